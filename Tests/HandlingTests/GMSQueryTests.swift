// Tests of how the query of a GMS client is read.

import API
import HTTP
import Testing

@testable import Handling

@Suite struct GMSQueryTests {
  private static func code(_ query: String) -> Problem.Code? { problem(query)?.code }

  /// The problem; nil if the query is accepted.
  private static func problem(_ query: String) -> Problem? {
    let octets = Array("GET /?\(query) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    var (parser, request, offset) = (
      RequestParser(limits: MessageLimits(headerBytes: 65_536)), Request(), 0
    )
    guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else {
      Issue.record("the request is not complete")
      return nil
    }
    do throws(Problem) { _ = try GMSQuery(request) } catch { return error }
    return nil
  }

  private static func conditions(_ count: Int) -> String {
    (0..<count).map { "&a\($0)=1" }.joined()
  }

  @Test func `a query has 64 conditions at most, operand not counted`() {
    #expect(Self.code("_id=x" + Self.conditions(63)) == nil)
    #expect(Self.code("operand=AND&_id=x&_=1700000000000" + Self.conditions(63)) == nil)
    #expect(Self.code("_id=x" + Self.conditions(64)) == .malformedRequest)
    #expect(Self.code("_id=x" + Self.conditions(5000)) == .malformedRequest)
    // As many conditions as fit, with escapes and all with the same name.
    #expect(Self.code("_id=x" + String(repeating: "&%61=1", count: 5000)) == .malformedRequest)
  }

  @Test(arguments: [
    "_id=x&_id=y", "_id=x&%5Fid=y", "_id=x&a=1&a=1", "_id=x&a=%FF", "_id=x&operand=AND&operand=AND",
    "_id=x&operand=XOR", "", "a=1", "_id=!x",
  ])
  func `a condition occurs once, and one names a callback or a number`(query: String) {
    #expect(Self.code(query) == .invalidRequest)
  }

  @Test(arguments: ["first_name=Andr%E9", "first_name=a%00"])
  func `a value that is not UTF-8 is refused by its name, not as one given twice`(condition: String) throws {
    let problem = try #require(Self.problem("_id=x&" + condition))
    #expect(problem.code == .invalidRequest)
    #expect(problem.fields.map(\.name) == ["first_name"])
    #expect(problem.detail.contains("first_name") && problem.detail.contains("UTF-8"))
    #expect(Self.problem("_id=x&a=1&a=1")?.detail.contains("UTF-8") == false)
  }

  @Test func `names are compared by their octets`() {
    #expect(Self.code("_id=x&%C3%A9=1&e%CC%81=2") == nil)
  }
}
