// Tests of how a request's trace reaches Talkdesk, the log and the audit record.

import HTTP
import JOSE
import JSON
import Testing

@testable import Gateway

/// A client's trace, followed through the server to Talkdesk.
@Suite(.timeLimit(.minutes(2))) struct TracingTests {
  private let environment = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass", "CALLGATE_ADMIN_TOKEN": "canary-operators",
  ]
  private let trace = "0af7651916cd43dd8448eb211c80319c"
  private let span = "b7ad6b7169203331"

  private func fields(_ traceparent: String?, id: String) -> Fields {
    var fields: Fields = [
      "Authorization": "Basic " + Base64.encode(Array("app:canary-pass".utf8)), "X-Request-Id": id,
    ]
    if let traceparent { fields["traceparent"] = traceparent }
    return fields
  }

  private func audit(_ lines: [JSONValue], _ id: String) -> JSONValue? {
    lines.first { $0["log"]?.string == "audit" && $0["request_id"]?.string == id }
  }

  @Test func `the exchange, its log line and the audit line belong to the trace of who asked`() async throws {
    let service = try RunningService(environment: environment)
    #expect(
      try await service.ask(.get, "/access", fields("00-\(trace)-\(span)-01", id: "first")).status == 200)
    let other = "11111111111111111111111111111111"
    // This token comes from the cache, in a trace of its own.
    _ = try await service.ask(.get, "/access", fields("00-\(other)-\(span)-00", id: "second"))
    _ = try await service.ask(.get, "/access", fields(nil, id: "without"))
    _ = try await service.ask(.get, "/access", fields("00-\(trace)-\(span)-01-more", id: "invalid"))
    _ = try await service.ask(.post, "/access", fields("00-\(trace)-\(span)-01", id: "other-method"))
    let exchanges = try await service.tellTalkdesk(.get, "/_sandbox/exchanges")["exchanges"]?.array ?? []
    let lines = try await service.end()
    #expect(exchanges.count == 1)
    let carried = try #require(exchanges.first?["traceparent"]?.string)
    #expect(carried.hasPrefix("00-\(trace)-") && carried.hasSuffix("-01") && !carried.contains(span))
    #expect(
      lines.first { $0["message"]?.string == "token obtained from Talkdesk ID" }?["trace_id"]?.string == trace
    )
    #expect(audit(lines, "first")?["trace_id"]?.string == trace)
    #expect(audit(lines, "second")?["trace_id"]?.string == other)
    #expect(audit(lines, "other-method")?["trace_id"]?.string == trace)
    for id in ["without", "invalid"] {
      #expect(audit(lines, id)?["decision"]?.string == "allow")
      #expect(audit(lines, id)?.object?["trace_id"] == nil)
    }
  }

  @Test func `what operators change is logged with the request that changed it`() async throws {
    let service = try RunningService(environment: environment)
    let fields: Fields = [
      "Authorization": "Bearer canary-operators", "X-Request-Id": "stop-1",
      "traceparent": "00-\(trace)-\(span)-01",
    ]
    let stop = JSONValue.object(["scope": "all", "action": "callback"]).serialized()
    #expect(try await service.ask(.post, "/admin/stop", fields, content: stop).status == 200)
    _ = try await service.ask(.post, "/admin/reload", fields)
    let lines = try await service.end()
    for message in ["stopped by an operator", "configuration reloaded"] {
      let line = try #require(lines.first { $0["message"]?.string == message })
      #expect(line["request_id"]?.string == "stop-1" && line["trace_id"]?.string == trace)
      // The scope all has no id.
      #expect(line.object?["id"] == nil)
    }
  }
}
