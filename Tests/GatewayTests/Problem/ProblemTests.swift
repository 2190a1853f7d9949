// Tests of problem documents: their members, status and code.

import HTTP
import HTTPServer
import JSON
import Testing
import Tokens

@testable import API
@testable import Delivery
@testable import Gateway
@testable import Responses

@Suite struct ProblemTests {
  @Test func `a problem is a problem document with the request's id`() throws {
    var problem = Problem(.closed, "Opens tomorrow.", retryAfter: 90)
    problem.rule = "opening-hours"
    problem.nextOpen = "2026-11-23T14:00:00Z"
    problem.fields = [Problem.FieldProblem(name: "value", description: "is empty")]
    problem.id = "abc"
    let id = try #require(RequestID("r-1"))
    let response = problem.response(requestID: id)
    #expect(response.status == .forbidden)
    #expect(response.fields["Content-Type"] == "application/problem+json")
    #expect(response.fields["Cache-Control"] == "no-store")
    #expect(response.fields["Retry-After"] == "90")
    let document = try JSONValue(parsing: response.content)
    #expect(
      document
        == [
          "type": "urn:callgate:problem:closed", "title": "Closed now", "status": 403,
          "detail": "Opens tomorrow.", "instance": "r-1", "code": "closed", "message": "Closed now",
          "fields": [["name": "value", "description": "is empty"]], "rule": "opening-hours",
          "retry_after": 90,
          "next_open": "2026-11-23T14:00:00Z", "id": "abc",
        ])
  }

  @Test func `members without a value are left out`() throws {
    let response = Problem(.notFound, "There is no endpoint at this path.").response(requestID: RequestID())
    let document = try JSONValue(parsing: response.content)
    #expect(
      document.object?.members.map(\.name) == [
        "type", "title", "status", "detail", "instance", "code", "message",
      ])
    #expect(response.fields["Retry-After"] == nil)
  }

  @Test(arguments: [
    (TokenExchangeError.refused(status: 401, code: "invalid_client"), Problem.Code.upstreamRefused),
    (.rateLimited(retryAfter: .seconds(7)), .upstreamUnavailable),
    (.unavailable(status: 503, retryAfter: nil), .upstreamUnavailable),
    (.failed(status: 400, code: "500901"), .upstreamFailed),
    (.unusableReply(.notJSON), .upstreamFailed),
    (.timedOut(sent: true), .upstreamTimeout),
    (.transport(TransportError(.connect, sent: false, detail: "refused")), .upstreamUnavailable),
    (.signingFailed("EVP_DigestSign"), .internal),
  ])
  func `each failure of an exchange has its code, and upstream's words stay here`(
    error: TokenExchangeError, code: Problem.Code
  ) {
    let problem = Problem(TokenError.exchangeFailed(error, retryAfter: .milliseconds(6200)))
    #expect(problem.code == code)
    // A 503 means that a retry makes sense, so it says when. The wait is rounded up, or the retry would come
    // too early.
    #expect(problem.retryAfter == (code == .upstreamUnavailable ? 7 : nil))
    #expect(!problem.detail.contains("invalid_client") && !problem.detail.contains("EVP_"))
    let cooling = Problem(TokenError.coolingDown(cause: error, retryAfter: .seconds(3)))
    #expect(cooling.code == .upstreamUnavailable && cooling.retryAfter == 3)
    for other in [
      Problem(.exchangeFailed(error, retryAfter: .seconds(1)), from: .sendbird),
      Problem(.coolingDown(cause: error, retryAfter: .seconds(1)), from: .sendbird),
    ] {
      #expect(other.detail.contains("Sendbird") && !other.detail.contains("Talkdesk"))
    }
  }

  @Test(arguments: [
    (["at"], "at: Give a time."), (["at", "to"], "at: Give a time. The list fields has more mistakes."),
    ([], "The request is not valid."),
  ])
  func `the detail of a request with mistakes names the first`(names: [String], detail: String) {
    let problem = Problem.invalid(names.map { .init(name: $0, description: "Give a time.") })
    #expect(problem.detail == detail)
    #expect(problem.fields.map(\.name) == names)
  }

  @Test func `mistakes that are added later change the detail as if all were there at first`() {
    func mistake(_ name: String) -> Problem.FieldProblem { .init(name: name, description: "Give a time.") }
    var problem = Problem.invalid([mistake("at")])
    problem.add([])
    #expect(problem.detail == "at: Give a time.")
    problem.add([mistake("to")])
    #expect(problem.detail == "at: Give a time. The list fields has more mistakes.")
    problem.add([mistake("app")], first: true)
    #expect(problem.detail == "app: Give a time. The list fields has more mistakes.")
    #expect(problem.fields.map(\.name) == ["app", "at", "to"])
    var other = Problem(.invalidRequest, "The content is no JSON.")
    other.add([mistake("at")])
    #expect(other.detail == "The content is no JSON." && other.fields == [mistake("at")])
  }

  @Test(arguments: Problem.Code.allCases)
  func `every refusal has a status of its class and a title`(code: Problem.Code) {
    #expect((400...599).contains(code.status.code))
    #expect(!code.title.isEmpty && !code.title.hasSuffix("."))
    // The stock Android client ignores the status and looks for this member alone.
    #expect(
      !String(decoding: Problem(code, "x").response(requestID: RequestID()).content, as: UTF8.self).contains(
        "auth_token"))
  }
}
