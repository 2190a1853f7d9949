// Tests of which web pages may call the server from a browser (CORS).

import HTTP
import JOSE
import JSON
import Testing

@testable import API
@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct CrossOriginTests {
  private let environment = ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"]
  private let open = """
    cors: { origins: ["https://shop.example", "http://127.0.0.1:3000", "capacitor://localhost"] }
    rules:
      - { name: version, kind: field, field: X-App-Version, at_least: "1.0", mode: audit }
      - { name: daily, kind: quota, key: caller, limit: 7, per: month }
    """
  private func fields(_ origin: String?, authorized: Bool = true) -> Fields {
    var fields = Fields()
    if authorized { fields.append("Authorization", "Basic " + Base64.encode(Array("app:canary-pass".utf8))) }
    if let origin { fields.append("Origin", origin) }
    return fields
  }

  private func preflight(_ origin: String, _ method: String = "GET") -> Fields {
    [
      "Origin": origin, "Access-Control-Request-Method": method,
      "Access-Control-Request-Headers": "authorization, x-app-version",
    ]
  }

  private func names(_ response: InboundResponse) -> Set<String> {
    Set(response.fields.lines.map { $0.name.lowercased() }.filter { $0.hasPrefix("access-control-") })
  }

  @Test func `a listed origin is named on every answer, tokens, cached tokens and refusals alike`()
    async throws
  {
    let service = try RunningService(environment: environment, yaml: open)
    for origin in ["https://shop.example", "http://127.0.0.1:3000", "capacitor://localhost"] {
      // The first request needs a token from Talkdesk, the next ones use the cache, and then the quota is
      // used up.
      let answers: [(Method, String, Bool, Int)] = [
        (.get, "/access", true, 200), (.get, "/access", true, 200), (.get, "/access?probe", true, 204),
        (.get, "/access", false, 401), (.get, "/availability", true, 200), (.post, "/access", true, 405),
        (.post, "/token/none", true, 404),
      ]
      for (method, path, authorized, status) in answers {
        let answer = try await service.ask(method, path, fields(origin, authorized: authorized))
        #expect(answer.status == status, "\(method) \(path)")
        #expect(answer.fields.values(of: "Access-Control-Allow-Origin") == [origin])
        #expect(answer.fields.values(of: "Vary").contains("Origin"))
        #expect(answer.fields["Access-Control-Expose-Headers"]?.contains("Retry-After") == true)
        #expect(answer.fields["Access-Control-Allow-Credentials"] == nil)
      }
    }
    #expect(try await service.ask(.get, "/access", fields(nil)).status == 200)
    let spent = try await service.ask(.post, "/token/example-app-ios", fields("https://shop.example"))
    #expect(spent.status == 429 && spent.fields["Retry-After"] != nil)
    #expect(spent.fields["Access-Control-Allow-Origin"] == "https://shop.example")
    _ = try await service.end()
  }

  @Test(arguments: [
    "https://evil.example", "https://shop.example.evil.example", "https://shop.example:443",
    "http://shop.example",
    "HTTPS://SHOP.EXAMPLE", "https://shop.example/", "null", "*", "",
  ])
  func `another origin is refused`(origin: String) async throws {
    let service = try RunningService(environment: environment, yaml: open)
    let answer = try await service.ask(.get, "/access", fields(origin))
    #expect(answer.status == 200)
    #expect(names(answer) == [])
    #expect(answer.fields["Vary"] == "Origin")
    _ = try await service.end()
  }

  @Test func `a preflight says what may be sent, the fields of rules included`() throws {
    let crossOrigin = CrossOrigin(
      origins: ["https://shop.example"], ruleFields: ["X-App-Version", "authorization"])
    let asking = try request(preflight("https://shop.example"))
    let answer = try #require(crossOrigin.preflight(asking, allowed: "POST, OPTIONS"))
    #expect(answer.values(of: "Access-Control-Allow-Origin") == ["https://shop.example"])
    #expect(answer["Access-Control-Allow-Methods"] == "POST, OPTIONS")
    #expect(answer["Access-Control-Max-Age"] == "600")
    #expect(answer["Vary"] == "Origin")
    #expect(
      answer["Access-Control-Allow-Headers"]
        == "Authorization, Content-Type, DPoP, Idempotency-Key, X-API-Key, X-Firebase-AppCheck, X-Request-Id, baggage, sentry-trace, traceparent, tracestate, X-App-Version"
    )
    #expect(answer["Access-Control-Allow-Credentials"] == nil)
  }

  @Test func `anything but a preflight of a listed origin is not answered as one`() throws {
    let crossOrigin = CrossOrigin(origins: ["https://shop.example"], ruleFields: [])
    var twice = preflight("https://shop.example")
    twice.append("Access-Control-Request-Method", "POST")
    let refused = [
      preflight("https://evil.example"), preflight("null"), twice, ["Origin": "https://shop.example"],
      ["Access-Control-Request-Method": "GET"],
    ]
    for fields in refused {
      #expect(crossOrigin.preflight(try request(fields), allowed: "GET") == nil)
    }
    let closed = CrossOrigin(origins: [], ruleFields: [])
    #expect(closed.preflight(try request(preflight("https://shop.example")), allowed: "GET") == nil)
  }

  /// An `OPTIONS` request with these fields.
  private func request(_ fields: Fields) throws -> Request {
    let lines = fields.lines.map { "\($0.name): \($0.value)\r\n" }.joined()
    var parser = RequestParser()
    var request = Request()
    var offset = 0
    let octets = Array("OPTIONS /access HTTP/1.1\r\nHost: a\r\n\(lines)\r\n".utf8)
    guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else { throw NoRequest() }
    return request
  }

  private struct NoRequest: Error {}

  @Test func `what is no app's business is closed to pages, and without an Origin nothing is said`()
    async throws
  {
    let service = try RunningService(
      environment: environment.merging(["CALLGATE_ADMIN_TOKEN": "canary-operators-token"]) { $1 }, yaml: open)
    for path in ["/livez", "/readyz", "/", "/nowhere", "/admin/status"] {
      let answer = try await service.ask(.get, path, fields("https://shop.example"))
      #expect(names(answer) == [], "\(path)")
    }
    let answer = try await service.ask(.get, "/access", fields(nil))
    #expect(names(answer) == [] && answer.fields["Vary"] == nil)
    // A browser's cache must not serve this response to a page of another origin.
    let kept = try await service.ask(.get, "/availability", fields(nil))
    #expect(names(kept) == [] && kept.fields.values(of: "Vary").contains("Origin"))
    _ = try await service.end()
  }

  private static let forms = """
    cors: { origins: ["https://shop.example"] }
    apps:
      shop: { callers: [default], installations: { authorize: [operator] } }
    gms: { services: { support: { app: shop } } }
    """
  /// The methods and paths of the endpoints that accept forms, and dialogs that change something.
  private static let acceptForms: [(Method, String)] = [
    (.post, "/fetch-code?app=shop"), (.get, "/genesys/1/service/callback/support"),
    (.post, "/genesys/1/service/callback/support"), (.put, "/genesys/1/service/callback/support/x"),
    (.delete, "/genesys/1/service/callback/support/x"),
    (.get, "/genesys/1/service/\(String(repeating: "A", count: 32))/cancel"),
    (.post, "/genesys/1/service/\(String(repeating: "A", count: 32))/connect"),
  ]

  @Test func `where forms are accepted, a page of a site that is not listed gets nothing done`() async throws
  {
    let service = try await RunningService(
      preparing: environment.merging([
        "CALLGATE_STORE_KEY": Base64.encode([UInt8](repeating: 7, count: 32))
      ]) { $1 }, yaml: Self.forms)
    let own = service.baseURL
    let pages: [(sent: Fields, isForeign: Bool)] = [
      (["Origin": "https://evil.example"], true), (["Origin": "null"], true),
      (["Sec-Fetch-Site": "cross-site"], true), (["Sec-Fetch-Site": "same-site"], true),
      (["Origin": "https://evil.example", "Sec-Fetch-Site": "none"], true),
      // A link on another site's page.
      (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"], true),
      (["Origin": "https://shop.example", "Sec-Fetch-Site": "cross-site"], false),
      (["Origin": own, "Sec-Fetch-Site": "same-origin"], false), (["Origin": own], false),
      (["Sec-Fetch-Site": "none"], false), ([:], false),
    ]
    for (method, path) in Self.acceptForms {
      for (sent, isForeign) in pages {
        var fields = fields(nil)
        for line in sent.lines { fields.append(line.name, line.value) }
        fields.append("Content-Type", "application/x-www-form-urlencoded")
        let answer = try await service.ask(
          method, path, fields, content: method == .get ? [] : Array("a=b".utf8))
        let code = try? JSONValue(parsing: answer.content)["code"]?.string
        #expect((answer.status == 403 && code == "denied") == isForeign, "\(method) \(path) \(sent.lines)")
      }
    }
    // Other endpoints are safe: a browser sends a preflight first, or, as for a menu, nothing changes.
    #expect(try await service.ask(.get, "/access", fields("https://evil.example")).status == 200)
    let menu =
      "/genesys/1/service/\(String(repeating: "A", count: 32))/get-dialog-user-confirmation-provide_code-true"
    #expect(try await service.ask(.get, menu, fields("https://evil.example")).status == 404)
    let audited = try await service.end().filter {
      $0["log"]?.string == "audit" && $0["code"]?.string == "denied"
    }
    #expect(
      Set(audited.compactMap { $0["action"]?.string }) == [
        "enrol", "callback", "change", "cancel", "connect",
      ])
  }

  @Test func `no response may be taken for another type than its own`() async throws {
    let service = try RunningService(
      environment: environment.merging(["CALLGATE_ADMIN_TOKEN": "canary-operators-token"]) { $1 }, yaml: open)
    for path in [
      "/access", "/livez", "/readyz", "/nowhere", "/openapi.json", "/docs", "/docs/docs.js", "/admin/",
      "/metrics",
    ] {
      let answer = try await service.ask(.get, path, fields(nil))
      #expect(answer.fields.values(of: "X-Content-Type-Options") == ["nosniff"], "\(path)")
    }
    _ = try await service.end()
  }

  @Test func `a request that is refused before it is whole still tells the page why`() async throws {
    let service = try RunningService(environment: environment, yaml: open)
    let large = Array(repeating: UInt8(ascii: "x"), count: 70_000)
    let path = "/token/example-app-ios"
    let answer = try await service.ask(.post, path, fields("https://shop.example"), content: large)
    #expect(answer.status == 413)
    #expect(answer.fields["Access-Control-Allow-Origin"] == "https://shop.example")
    let other = try await service.ask(.post, path, fields("https://evil.example"), content: large)
    #expect(other.status == 413 && names(other) == [])
    _ = try await service.end()
  }

  @Test func `a reload opens and closes`() async throws {
    let service = try RunningService(environment: environment)
    let asking = fields("https://shop.example")
    let closed = try await service.ask(.get, "/access", asking)
    #expect(names(closed) == [] && closed.fields["Vary"] == nil)
    service.rewrite("cors: { origins: [\"https://shop.example\"] }")
    #expect(await service.reload())
    #expect(
      try await service.ask(.get, "/access", asking).fields["Access-Control-Allow-Origin"]
        == "https://shop.example")
    service.rewrite("cors: { origins: [\"https://other.example\"] }")
    #expect(await service.reload())
    #expect(names(try await service.ask(.get, "/access", asking)) == [])
    _ = try await service.end()
  }
}
