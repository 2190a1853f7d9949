// Tests of what is named when the form of a request to `POST /fetch-code` does not decode.

import API
import Testing

@testable import Installations

@Suite struct FetchCodeRequestTests {
  private static func names(_ form: String) -> [String]? {
    do throws(Problem) {
      _ = try FetchCodeRequest(parsing: Array(form.utf8), isForm: true, query: [])
      return nil
    } catch {
      #expect(error.code == .invalidRequest)
      return error.fields.map(\.name)
    }
  }

  private static let good = "client_id=6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44&client_app=Shop"

  @Test func `a parameter that is repeated or does not decode is named`() {
    #expect(Self.names(Self.good) == nil)
    #expect(Self.names(Self.good + "&client_app=Shop") == ["client_app"])
    #expect(Self.names(Self.good + "&client_detail=100%") == ["client_detail"])
    #expect(Self.names(Self.good + "&client_detail=%FF&request_id=a b") == ["client_detail", "request_id"])
    #expect(Self.names(Self.good + "&%zz=1") == ["%zz"])
    let many = (0..<63).map { "&p\($0)=1" }.joined()
    #expect(Self.names(Self.good + many) == [])
  }
}
