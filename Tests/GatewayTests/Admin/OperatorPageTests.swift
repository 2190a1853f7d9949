// Tests of the operator page as the server serves it, and of which browsers get its data.

import Foundation
import HTTP
import JOSE
import JSON
import Testing

@testable import Gateway
@testable import Pages

@Suite(.timeLimit(.minutes(2))) struct OperatorPageTests {
  private static let token = "canary-operators-token"
  private let guarded = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass", "CALLGATE_ADMIN_TOKEN": token,
  ]
  private let unguarded = ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"]
  private let right: Fields = ["Authorization": "Bearer \(token)"]

  private func code(_ response: InboundResponse) throws -> String? {
    try JSONValue(parsing: response.content)["code"]?.string
  }

  @Test func `the page needs no token, and a site may link to it`() async throws {
    let service = try RunningService(environment: guarded)
    let page = try await service.ask(.get, "/admin/", ["Sec-Fetch-Site": "cross-site"])
    #expect(page.status == 200)
    #expect(page.fields["Content-Type"] == "text/html; charset=utf-8")
    #expect(page.content == Array(OperatorPage.html.utf8))
    #expect(!String(decoding: page.content, as: UTF8.self).contains(Self.token))
    // Proxies keep /admin/ from the Internet, so no other path may lead there.
    #expect(try await service.ask(.get, "/admin").status == 404)
    _ = try await service.end()
  }

  @Test func `its policy admits its own files, and nothing inside the page`() async throws {
    let service = try RunningService(environment: guarded)
    let page = try await service.ask(.get, "/admin/")
    let policy = try #require(page.fields["Content-Security-Policy"])
    #expect(
      policy == "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        + "require-trusted-types-for 'script'; trusted-types 'none'; img-src data:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    let html = String(decoding: page.content, as: UTF8.self)
    #expect(!html.contains("<style") && html.split(separator: "<script").count == 2)
    for (name, type, content) in [
      ("operator.css", "text/css", OperatorPage.style),
      ("operator.js", "text/javascript", OperatorPage.script),
    ] {
      #expect(html.contains("\"/admin/\(name)\""))
      let file = try await service.ask(.get, "/admin/\(name)")
      #expect(file.status == 200 && file.content == Array(content.utf8))
      #expect(file.fields["Content-Type"] == "\(type); charset=utf-8")
      #expect(file.fields["X-Content-Type-Options"] == "nosniff")
      let tag = try #require(file.fields["ETag"])
      #expect(try await service.ask(.get, "/admin/\(name)", ["If-None-Match": tag]).status == 304)
      // For other methods it is an unknown path, which only operators are told.
      #expect(try await service.ask(.post, "/admin/\(name)").status == 401)
    }
    #expect(try await service.ask(.get, "/admin/operator.html").status == 401)
    _ = try await service.end()
  }

  @Test func `the page says when it has not changed, and HEAD sends none of it`() async throws {
    let service = try RunningService(environment: guarded)
    let tag = try #require(try await service.ask(.get, "/admin/").fields["ETag"])
    let again = try await service.ask(.get, "/admin/", ["If-None-Match": tag])
    #expect(again.status == 304 && again.content.isEmpty)
    let head = try await service.ask(.head, "/admin/")
    #expect(head.status == 200 && head.content.isEmpty && head.fields["ETag"] == tag)
    #expect(try await service.ask(.post, "/admin/", right).status == 405)
    _ = try await service.end()
  }

  @Test(arguments: [true, false])
  func `a browser that is sent to /admin without the slash finds the page, and other clients a problem`(
    hasToken: Bool
  ) async throws {
    let service = try RunningService(
      environment: hasToken ? guarded : unguarded, yaml: hasToken ? nil : "admin: { port: 0 }")
    var bases = [service.baseURL]
    if !hasToken {
      let address = try #require(try await service.line("admin listener started")["address"]?.string)
      bases.append("http://\(address)")
    }
    for base in bases {
      for method in [HTTP.Method.get, .head] {
        let answer = try await service.ask(
          method, at: base + "/admin", ["Accept": "application/xhtml+xml, Text/HTML;q=0.9"])
        #expect(answer.status == 308 && answer.fields["Location"] == "/admin/")
      }
      #expect(try await service.ask(.get, at: base + "/admin").status == 404)
      #expect(try await service.ask(.get, at: base + "/admin", ["Accept": "application/json"]).status == 404)
      #expect(try await service.ask(.post, at: base + "/admin", ["Accept": "text/html"]).status == 404)
      #expect(try await service.ask(.get, at: base + "/admins", ["Accept": "text/html"]).status == 404)
    }
    _ = try await service.end()
  }

  @Test
  func `without a token the public port has no page, and the loopback listener has one that asks for none`()
    async throws
  {
    let service = try RunningService(environment: unguarded, yaml: "admin: { port: 0 }")
    for path in ["/admin/", "/admin/operator.css", "/admin/operator.js"] {
      #expect(try await service.ask(.get, path).status == 404)
    }
    let address = try #require(try await service.line("admin listener started")["address"]?.string)
    let page = try await service.ask(.get, at: "http://\(address)/admin/")
    #expect(page.status == 200 && page.content == Array(OperatorPage.html.utf8))
    #expect(try await service.ask(.get, at: "http://\(address)/admin/operator.js").status == 200)
    _ = try await service.end()
  }

  // MARK: The data

  /// What a browser says about the origin of a request, and whether the data is served.
  private static let origins: [(Fields, Bool)] = [
    (["Sec-Fetch-Site": "same-origin"], true), (["Sec-Fetch-Site": "none"], true),
    (["Sec-Fetch-Site": "cross-site"], false), (["Sec-Fetch-Site": "same-site"], false),
    (["Sec-Fetch-Site": ""], false), (["Origin": "null"], false), (["Origin": "https://evil.example"], false),
    (["Origin": "http://HOST"], true), (["Origin": "https://HOST"], true), (["Origin": "HOST"], false),
    (["Origin": "http://HOST.evil.example"], false), (["Origin": "ftp://HOST"], false),
    // If the browser sends both, Sec-Fetch-Site counts: a proxy may have changed the host name.
    (["Sec-Fetch-Site": "same-origin", "Origin": "https://calls.example.com"], true),
    (["Sec-Fetch-Site": "cross-site", "Origin": "http://HOST"], false),
  ]

  @Test(arguments: [true, false])
  func `only pages of its own origin get the data, with a token or without`(hasToken: Bool) async throws {
    let service = try RunningService(
      environment: hasToken ? guarded : unguarded, yaml: hasToken ? nil : "admin: { port: 0 }")
    let base =
      hasToken
      ? service.baseURL
      : "http://\(try #require(try await service.line("admin listener started")["address"]?.string))"
    let host = base.dropFirst("http://".count)
    for (fields, isGiven) in Self.origins {
      var asked: Fields = hasToken ? right : [:]
      for line in fields.lines { asked.append(line.name, line.value.replacing("HOST", with: host)) }
      let answer = try await service.ask(.get, at: "\(base)/admin/status", asked)
      #expect(answer.status == (isGiven ? 200 : 403), "\(fields)")
      if !isGiven { #expect(try code(answer) == "denied", "\(fields)") }
      // The type that the page sends.
      asked.append("Content-Type", "application/json")
      let reload = try await service.ask(.post, at: "\(base)/admin/reload", asked, content: Array("{}".utf8))
      #expect(reload.status == (isGiven ? 200 : 403), "\(fields)")
    }
    _ = try await service.end()
  }

  @Test func `a page of another site does not learn whether there is a token`() async throws {
    let service = try RunningService(environment: unguarded)
    let answer = try await service.ask(.get, "/admin/status", ["Sec-Fetch-Site": "cross-site"])
    #expect(answer.status == 404)
    _ = try await service.end()
  }

  @Test func `after ten wrong tokens further wrong ones wait, and the right one passes`() async throws {
    let service = try RunningService(environment: guarded)
    func guess(_ number: Int) async throws -> InboundResponse {
      try await service.ask(.get, "/admin/status", ["Authorization": "Bearer canary-guess-\(number)"])
    }
    for number in 0..<10 { #expect(try await guess(number).status == 401) }
    let wait = try await guess(10)
    #expect(wait.status == 429)
    #expect(try code(wait) == "rate_limited")
    let seconds = try #require(wait.fields["Retry-After"].flatMap { Int($0) })
    #expect((1...6).contains(seconds))
    #expect(try await service.ask(.get, "/admin/status", right).status == 200)
    #expect(try await guess(11).status == 429)
    _ = try await service.end()
  }

  // MARK: The status

  @Test func `the status shows decisions by minute and one by one, and only new ones after a number`()
    async throws
  {
    // Three days from now, so that it is closed.
    let weekday = Date.now.addingTimeInterval(3 * 86_400).formatted(
      Date.FormatStyle(locale: Locale(identifier: "en_US"), timeZone: .gmt).weekday(.abbreviated))
    let service = try RunningService(
      environment: guarded.merging(["TD_PHONE_NUMBER": "+18500000000"]) { $1 },
      yaml: """
        apps: { shop: {}, desk: { callers: [default] } }
        rules: [{ name: opening-hours, kind: hours, on: [callback], apps: [desk], timezone: UTC, weekly: { \(weekday.lowercased()): "09:00-10:00" } }]
        """)
    func status(_ query: String = "") async throws -> JSONValue {
      let answer = try await service.ask(.get, "/admin/status\(query)", right)
      #expect(answer.status == 200 && answer.fields["Cache-Control"] == "no-store")
      return try JSONValue(parsing: answer.content)
    }
    let fresh = try await status()
    #expect(fresh["sequence"]?.int == 0 && fresh["decisions"] == [])
    #expect(fresh["last_hour"]?["minutes"]?.array?.count == 60)
    let caller: Fields = ["Authorization": "Basic " + Base64.encode(Array("app:canary-pass".utf8))]
    #expect(try await service.ask(.get, "/access?app=shop", caller).status == 200)
    #expect(try await service.ask(.get, "/access?app=none", caller).status == 404)
    let number = Array(#"{"contact_phone_number":"+14155550123"}"#.utf8)
    var call = caller
    call.append("Content-Type", "application/json")
    #expect(try await service.ask(.post, "/calls/callback?app=desk", call, content: number).status == 403)
    let after = try await status("?after=0")
    let decisions = try #require(after["decisions"]?.array)
    #expect(decisions.map { $0["sequence"]?.int } == [1, 2, 3])
    #expect(decisions.map { $0["decision"]?.string } == ["allow", "deny", "deny"])
    #expect(decisions.map { $0["code"]?.string } == [nil, "unknown_app", "closed"])
    #expect(decisions[2]["rule"]?.string == "opening-hours")
    #expect(decisions[2]["contact"]?.string == "+*********23")
    #expect(decisions[2]["caller"]?.string == "default" && decisions[2]["app"]?.string == "desk")
    #expect(after["sequence"]?.int == 3)
    let openings = try #require(after["openings"]?.array)
    #expect(openings.map { $0["app"]?.string } == ["shop", "desk"])
    #expect(openings.map { $0["open"] } == [true, false])
    #expect(openings[1]["next_change"]?.string?.hasSuffix("T09:00:00Z") == true)
    #expect(openings[0]["next_change"] == .null)
    #expect(try await status("?after=2")["decisions"]?.array?.map { $0["sequence"]?.int } == [3])
    #expect(try await status("?after=3")["decisions"] == [])
    // A number from an earlier process: every decision is new.
    #expect(try await status("?after=99")["decisions"]?.array?.count == 3)
    for query in ["?after=-1", "?after=x", "?after=1&after=2", "?after="] {
      #expect(try await service.ask(.get, "/admin/status\(query)", right).status == 422, "\(query)")
    }
    _ = try await service.end()
  }
}
