// Tests of the metrics page of a running server.

import HTTP
import JOSE
import JSON
import Metrics
import Platform
import Testing

@testable import API
@testable import Gateway
@testable import Records

/// Counts of real requests, as a scraper sees them.
@Suite(.timeLimit(.minutes(2))) struct MetricsTests {
  private static let token = "canary-operators-token"
  private let environment = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass", "CALLGATE_ADMIN_TOKEN": token,
  ]
  private let operatorFields: Fields = ["Authorization": "Bearer \(token)"]
  private var credentials: Fields {
    ["Authorization": "Basic " + Base64.encode(Array("app:canary-pass".utf8))]
  }

  @Test func `a brake's refusals begin at 0, so that the first ones show as growth`() throws {
    let metrics = ServiceMetrics(loops: 1)
    var text = MetricsText()
    metrics.append(to: &text)
    let page = String(decoding: text.bytes, as: UTF8.self)
    for rule in ["brake-burst", "brake-hour"] {
      #expect(
        page.contains(
          #"callgate_decisions_total{action="callback",decision="deny",rule="\#(rule)",code="rate_limited"} 0"#
        ),
        "\(rule)")
    }
  }

  /// One scrape.
  private struct Page {
    let lines: [Substring]

    init(_ response: InboundResponse) {
      lines = String(decoding: response.content, as: UTF8.self).split(separator: "\n")
    }

    /// The value of a series, exactly as written.
    func value(_ series: String) -> String? {
      lines.first { $0.hasPrefix(series + " ") }.map { String($0.dropFirst(series.utf8.count + 1)) }
    }

    /// The sum of all series of a family.
    func total(_ family: String) -> Int {
      lines.filter { $0.hasPrefix(family + "{") }.reduce(0) {
        $0 + (Int($1.split(separator: " ").last ?? "") ?? 0)
      }
    }
  }

  private func scrape(_ service: RunningService) async throws -> Page {
    Page(try await service.ask(.get, "/metrics", operatorFields))
  }

  @Test func `the page is for operators only`() async throws {
    let service = try RunningService(environment: environment, yaml: "admin: { port: 0 }")
    let answer = try await service.ask(.get, "/metrics", operatorFields)
    #expect(answer.status == 200)
    #expect(answer.fields["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
    #expect(answer.fields["Cache-Control"] == "no-store")
    #expect(try await service.ask(.get, "/metrics").status == 401)
    #expect(try await service.ask(.get, "/metrics", credentials).status == 401)
    let wrong = try await service.ask(.post, "/metrics", operatorFields)
    #expect(wrong.status == 405 && wrong.fields["Allow"] == "GET, HEAD, OPTIONS")
    // On loopback, the admin listener requires no token.
    let line = try await service.line("admin listener started")
    let address = try #require((line["server.address"] ?? line["address"])?.string)
    let own = try await service.ask(.get, at: "http://\(address)/metrics")
    #expect(own.status == 200 && own.content.starts(with: Array("# HELP callgate_build_info".utf8)))
    #expect(
      try await service.ask(.get, at: "http://\(address)/metrics", ["Origin": "https://evil.example"]).status
        == 403)
    _ = try await service.end()

    let closed = try RunningService(environment: [
      "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass",
    ])
    #expect(try await closed.ask(.get, "/metrics", operatorFields).status == 404)
    _ = try await closed.end()
  }

  @Test func `as many decisions are counted as audit lines are written, and as many answers as requests`()
    async throws
  {
    let service = try RunningService(
      environment: environment,
      yaml: """
        apps: { shop: { callers: [default] } }
        rules:
          - { name: old-app, kind: field, field: X-App-Version, at_least: "2.0", mode: audit }
          - { name: daily, kind: quota, key: caller, limit: 2, per: day }
        """)
    for fields in [credentials, credentials, credentials, [:], ["Authorization": "Basic eDp5"]] as [Fields] {
      _ = try await service.ask(.get, "/access", fields)
    }
    _ = try await service.ask(.get, "/access?probe", credentials)
    _ = try await service.ask(.post, "/token/none", credentials)
    _ = try await service.ask(.post, "/access", credentials)
    _ = try await service.ask(.post, "/nothing/here", credentials)
    _ = try await service.ask(.get, "/livez")
    let page = try await scrape(service)
    let audits = try await service.end().filter { $0["log"]?.string == "audit" }

    let decisions = "callgate_decisions_total"
    #expect(page.total(decisions) == audits.count && audits.count == 8)
    func decided(_ decision: String, _ rule: String, _ code: String) -> String? {
      page.value(
        "\(decisions){action=\"access\",decision=\"\(decision)\",rule=\"\(rule)\",code=\"\(code)\"}")
    }
    #expect(decided("allow", "", "") == "2")
    #expect(decided("deny", "daily", "quota_exhausted") == "2")
    #expect(decided("deny", "", "unauthenticated") == "2")
    #expect(decided("deny", "", "unknown_app") == "1")
    #expect(decided("deny", "", "method_not_allowed") == "1")
    #expect(decided("error", "", "upstream_unavailable") == "0")
    #expect(page.value("callgate_rule_objections_total{action=\"access\",rule=\"old-app\"}") == "4")

    func answered(_ route: String, _ method: String, _ status: Int) -> String? {
      page.value(
        "callgate_http_requests_total{route=\"\(route)\",method=\"\(method)\",status=\"\(status)\"}")
    }
    #expect(answered("/access", "GET", 200) == "2")
    #expect(answered("/access", "GET", 429) == "2")
    #expect(answered("/access", "GET", 401) == "2")
    #expect(answered("/access", "POST", 405) == "1")
    #expect(answered("/token/{app}", "POST", 404) == "1")
    #expect(answered("other", "POST", 404) == "1")
    #expect(answered("/livez", "GET", 200) == "1")
    #expect(page.total("callgate_http_requests_total") == 10)
    #expect(page.value("callgate_http_request_duration_seconds_count{route=\"/access\"}") == "7")

    #expect(page.value("callgate_token_cache_total{outcome=\"miss\"}") == "1")
    #expect(page.value("callgate_token_cache_total{outcome=\"hit\"}") == "1")
    #expect(
      page.value("callgate_upstream_requests_total{upstream=\"talkdesk_id\",outcome=\"success\"}") == "1")
    #expect(
      page.value("callgate_upstream_request_duration_seconds_count{upstream=\"talkdesk_id\"}") == "1")
  }

  @Test func `gauges show how things stand`() async throws {
    let service = try RunningService(environment: environment, yaml: "limits: { connections: 500 }")
    let before = try await scrape(service)
    #expect(before.value("callgate_token_expires_in_seconds{scope=\"callback:write\"}") == nil)
    #expect(
      before.lines.contains {
        $0.hasPrefix("callgate_credential_info{key_id=")
          && $0.hasSuffix(#"role="current",state="untried"} 1"#)
      })
    _ = try await service.ask(.get, "/access", credentials)
    let stop = JSONValue.object(["scope": "caller", "id": "default", "action": "callback"]).serialized()
    #expect(try await service.ask(.post, "/admin/stop", operatorFields, content: stop).status == 200)
    #expect(before.value("callgate_configuration_last_reload_successful") == "1")
    service.rewrite("limits: { connections: many }")
    #expect(await service.reload() == false)
    #expect(try await scrape(service).value("callgate_configuration_last_reload_successful") == "0")
    service.rewrite("limits: { connections: 400 }")
    #expect(await service.reload())
    let page = try await scrape(service)
    #expect(page.value("callgate_configuration_last_reload_successful") == "1")
    let left = try #require(
      page.value("callgate_token_expires_in_seconds{scope=\"callback:write\"}").flatMap(Double.init))
    #expect((1...3600).contains(left))
    #expect(
      page.lines.contains {
        $0.hasPrefix("callgate_credential_info{key_id=")
          && $0.hasSuffix(#"role="current",state="accepted"} 1"#)
      })
    #expect(page.value("callgate_stops{scope=\"caller\"}") == "1")
    #expect(page.value("callgate_stops{scope=\"all\"}") == "0")
    #expect(page.value("callgate_configuration_reloads_total{result=\"ok\"}") == "1")
    #expect(page.value("callgate_configuration_reloads_total{result=\"failed\"}") == "1")
    #expect(page.value("callgate_configuration_generation") == "2")
    #expect(page.value("callgate_ready") == "1")
    #expect(page.value("callgate_store_up") == "1")
    #expect(page.value("callgate_connections_limit") == "500")
    #expect(page.value("callgate_connections").flatMap(Int.init).map { $0 >= 1 } == true)
    #expect(page.value("callgate_build_info{version=\"\(Version.current)\"}") == "1")
    for name in [
      "process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes",
      "process_open_fds", "process_max_fds",
    ] {
      #expect(page.value(name).flatMap(Double.init).map { $0 > 0 } == true, "\(name)")
    }
    let start = try #require(page.value("process_start_time_seconds").flatMap(Double.init))
    let age = SystemClock().unixTime.asSeconds - start
    #expect((0...86_400).contains(age))
    _ = try await service.end()
  }

  @Test func `failures at Talkdesk ID are counted by their result`() async throws {
    let service = try RunningService(environment: environment)
    try await service.tellTalkdesk(
      .post, "/_sandbox/faults", ["endpoint": "token", "status": 401, "times": 5])
    #expect(try await service.ask(.get, "/access", credentials).status == 502)
    #expect(try await service.ask(.get, "/access", credentials).status == 503)
    let page = try await scrape(service)
    #expect(
      page.value("callgate_upstream_requests_total{upstream=\"talkdesk_id\",outcome=\"refused\"}") == "1")
    #expect(!page.lines.contains { $0.hasPrefix("callgate_upstream_last_success_timestamp_seconds{") })
    #expect(page.value("callgate_token_cache_total{outcome=\"cooling_down\"}") == "1")
    #expect(
      page.value("callgate_token_cool_down_seconds{scope=\"callback:write\"}").flatMap(Double.init).map {
        $0 > 0
      } == true)
    #expect(
      page.value(
        "callgate_decisions_total{action=\"access\",decision=\"error\",rule=\"\",code=\"upstream_refused\"}")
        == "1")
    _ = try await service.end()
  }

  @Test func `logins that are not heard are counted`() async throws {
    let service = try RunningService(environment: environment)
    for _ in 0..<12 { _ = try await service.ask(.get, "/access", ["Authorization": "Basic YXBwOng="]) }
    let page = try await scrape(service)
    #expect(page.value("callgate_logins_throttled_total") == "2")
    _ = try await service.end()
  }

  @Test func `no page holds a family or a series twice`() async throws {
    let service = try RunningService(environment: environment)
    for path in ["/access", "/readyz", "/", "/metrics"] { _ = try await service.ask(.get, path, credentials) }
    let page = try await scrape(service)
    let helped = page.lines.filter { $0.hasPrefix("# HELP") }.map { $0.split(separator: " ")[2] }
    #expect(Set(helped).count == helped.count && helped.count > 20)
    let series = page.lines.filter { !$0.hasPrefix("#") }.compactMap { line in
      line.lastIndex(of: " ").map { line[..<$0] }
    }
    #expect(Set(series).count == series.count)
    _ = try await service.end()
  }
}
