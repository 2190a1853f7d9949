// Tests of the response to a path that no endpoint has.

import HTTP
import JSON
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct UnknownPathTests {
  @Test func `a slip in a path is told what was meant, and operators' paths are not suggested`() async throws
  {
    let service = try RunningService(environment: [
      "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass",
    ])
    for (path, meant) in [
      ("/acces", "/access"), ("/call/callback", "/calls/callback"), ("/Docs", "/docs"),
      ("/readyz/", "/readyz"),
      ("/metric", nil), ("/admin/stp", nil), ("/nothing-like-it", nil),
      ("/acces\(String(repeating: "s", count: 80))", nil),
    ] as [(String, String?)] {
      let answer = try await service.ask(.get, path)
      let detail = try JSONValue(parsing: answer.content)["detail"]?.string ?? ""
      #expect(answer.status == 404, "\(path)")
      #expect(detail.contains("Did you mean \(meant ?? "")") == (meant != nil), "\(path): \(detail)")
      #expect(detail.hasSuffix("GET /docs lists all endpoints."), "\(path)")
    }
    _ = try await service.end()
  }
}
