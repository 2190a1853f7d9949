// Tests of the fields named when the form of a request to `POST /fetch-code` does not decode.

import API
import JOSE
import Testing

@testable import Installations

@Suite struct FetchCodeRequestTests {
  private static func names(_ form: String) -> [String]? {
    do throws(Problem) {
      _ = try FetchCodeRequest(parsing: Array(form.utf8), isForm: true, query: [], nil)
      return nil
    } catch {
      #expect(error.code == .invalidRequest)
      return error.fields.map(\.name)
    }
  }

  private static func request(_ more: String, _ demand: InstallationTerms.KeyDemand? = nil) -> Result<
    FetchCodeRequest, Problem
  > {
    let body = #"{"client_id":"6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44","client_app":"Shop""# + more + "}"
    return Result { () throws(Problem) in
      try FetchCodeRequest(parsing: Array(body.utf8), isForm: false, query: [], demand)
    }
  }

  @Test func `JSON that is sent as a form is told its Content-Type`() throws {
    let body = #"{"client_id":"6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44", "client_app":"Shop"}"#
    let problem = try #require(throws: Problem.self) {
      try FetchCodeRequest(parsing: Array(body.utf8), isForm: true, query: [], nil)
    }
    #expect(problem.code == .invalidRequest && problem.fields.isEmpty)
    #expect(problem.detail.contains("application/json"))
  }

  @Test func `a request with an attestation is a first request, and its secret names what it may replace`()
    throws
  {
    let evidence = #","attestation":{"type":"app_check","token":"a.b.c"}"#
    let first = try Self.request(evidence).get()
    #expect(first.form == .first && first.attestation == .appCheck(token: "a.b.c") && first.replacing == nil)
    let replacing = try Self.request(evidence + #","client_secret":"s""#).get()
    #expect(replacing.form == .first && replacing.replacing == "s")
    let code = try Self.request(#","client_secret":"s""#).get()
    #expect(code.form == .code(secret: "s") && code.attestation == nil && code.replacing == nil)
  }

  @Test(arguments: [
    (#","attestation":"x""#, ["attestation"]),
    (#","attestation":{}"#, ["attestation.type", "attestation.token"]),
    (#","attestation":{"type":"magic","token":"x"}"#, ["attestation.type"]),
    (#","attestation":{"type":"app_check","token":5}"#, ["attestation.token"]),
    (#","attestation":{"type":"app_check","token":"x","tokn":1}"#, ["attestation.tokn"]),
    (#","attestation":{"type":"app_check","token":"x"},"request_id":"y""#, ["request_id"]),
  ])
  func `each mistake in an attestation is named`(_ more: String, names: [String]) {
    guard case .failure(let problem) = Self.request(more) else {
      Issue.record("read: \(more)")
      return
    }
    #expect(problem.code == .invalidRequest && problem.fields.map(\.name) == names)
  }

  @Test(arguments: ["AQL_", "AQL/", "AQI=", "AQI", "AQ==", "AQ", ""])
  func `an attestation of App Attest is read from Base64 and base64url`(_ text: String) throws {
    let request = try Self.request(
      #","attestation":{"type":"app_attest","object":"\#(text)","key_id":"\#(text)","challenge":"c"}"#
    ).get()
    guard case .appAttest(let evidence) = request.attestation else {
      Issue.record("read \(request)")
      return
    }
    let expected: [UInt8] = Array(
      [1, 2, 255][..<["AQL": 3, "AQI": 2, "AQ": 1, "": 0][String(text.prefix(3).filter { $0 != "=" })]!])
    #expect(evidence.object == expected && evidence.keyID == expected && evidence.challenge == "c")
  }

  @Test(arguments: [
    (#"{"type":"app_attest"}"#, ["attestation.object", "attestation.key_id", "attestation.challenge"]),
    (
      #"{"type":"app_attest","object":"A","key_id":"AQ=","challenge":"c"}"#,
      ["attestation.object", "attestation.key_id"]
    ),
    (
      #"{"type":"app_attest","object":"AQ===","key_id":"A Q=","challenge":"c"}"#,
      ["attestation.object", "attestation.key_id"]
    ),
    (
      #"{"type":"app_attest","object":"AQL/_","key_id":"AR","challenge":"c"}"#,
      ["attestation.object", "attestation.key_id"]
    ),
    (#"{"type":"app_attest","object":"","key_id":"","challenge":1}"#, ["attestation.challenge"]),
    (#"{"type":"app_attest","object":"","key_id":"","challenge":"","token":"x"}"#, ["attestation.token"]),
  ])
  func `each mistake in an attestation of App Attest is named`(_ attestation: String, names: [String]) {
    guard case .failure(let problem) = Self.request(#","attestation":"# + attestation) else {
      Issue.record("read: \(attestation)")
      return
    }
    #expect(problem.code == .invalidRequest && problem.fields.map(\.name) == names)
  }

  private static let jkt = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"

  @Test func `the key of a phone comes with the first request, as the app's terms say`() throws {
    let member = #","jkt":"\#(Self.jkt)""#
    let key = try Self.request(member, .optional).get().key
    #expect(key.map { Base64URL.encode($0.bytes) } == Self.jkt)
    #expect(try Self.request(member, .required).get().key == key)
    #expect(try Self.request("", .optional).get().key == nil)
    #expect(try Self.request(#","request_id":"x""#, .required).get().key == nil)
    #expect(try Self.request(#","client_secret":"x""#, .required).get().key == nil)
    #expect(try Self.request(member + #","request_id":"x""#, .required).get().form == .poll(requestID: "x"))
    let evidence = #","attestation":{"type":"app_check","token":"a.b.c"},"client_secret":"s""#
    #expect(try Self.request(evidence + member, .required).get().key == key)
  }

  @Test(arguments: [
    (InstallationTerms.KeyDemand.off, #","jkt":"\#(jkt)""#), (.required, ""), (.required, #","jkt":null"#),
    (.optional, #","jkt":5"#), (.optional, #","jkt":"""#), (.optional, #","jkt":"\#(jkt)=""#),
    (.optional, #","jkt":"\#(jkt)A""#), (.optional, #","jkt":"\#(jkt.dropLast())J""#),
  ])
  func `each mistake in it is named`(_ demand: InstallationTerms.KeyDemand, _ more: String) {
    guard case .failure(let problem) = Self.request(more, demand) else {
      Issue.record("read: \(more)")
      return
    }
    #expect(problem.code == .invalidRequest && problem.fields.map(\.name) == ["jkt"])
  }

  @Test func `a body has at most 32 KiB`() throws {
    func body(_ count: Int) -> String {
      let used = #"{"client_id":"6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44","client_app":"Shop"}"#.utf8.count
      return String(repeating: " ", count: count - used)
    }
    _ = try Self.request(body(32 * 1024)).get()
    guard case .failure(let problem) = Self.request(body(32 * 1024 + 1)) else {
      Issue.record("read")
      return
    }
    #expect(problem.code == .contentTooLarge)
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
