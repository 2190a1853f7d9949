// Tests of how the server serves the runbook: on both listeners, and without a token.

import HTTP
import JSON
import Pages
import Testing

@testable import API
@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct RunbookTests {
  private let token = [
    "CALLGATE_ADMIN_TOKEN": "canary-operators-token", "DEFAULT_USERNAME": "app",
    "DEFAULT_PASSWORD": "canary-pass",
  ]

  @Test func `both listeners have the runbook, for readers without a token`() async throws {
    let service = try RunningService(environment: token, yaml: "admin: { port: 0 }")
    let admin = try #require(try await service.line("admin listener started")["address"]?.string)
    for base in [service.baseURL, "http://\(admin)"] {
      let page = try await service.ask(.get, at: base + "/docs/runbook")
      #expect(page.status == 200 && page.fields["Content-Type"] == "text/html; charset=utf-8", "\(base)")
      let text = String(decoding: page.content, as: UTF8.self)
      #expect(text.contains(PageFile.runbookContent.text) && !text.contains("{{"))
      let tag = try #require(page.fields["ETag"])
      #expect(try await service.ask(.get, at: base + "/docs/runbook", ["If-None-Match": tag]).status == 304)
      #expect(try await service.ask(.head, at: base + "/docs/runbook").content.isEmpty)
    }
    #expect(try await service.ask(.post, "/docs/runbook").status == 405)
    _ = try await service.end()
  }

  @Test func `the page needs no script and no other file, which the admin listener would not have`() throws {
    let policy = HTMLText.pageFields(style: PageFile.design.text + PageFile.runbookStyle.text)
      .lines.first { $0.name == "Content-Security-Policy" }?.value
    #expect(policy?.contains("script-src") == false && policy?.contains("'unsafe") == false)
    for sign in ["<script", " style=", "href=\"/", "href=\"http", "src="] {
      #expect(
        !PageFile.runbook.text.contains(sign) && !PageFile.runbookContent.text.contains(sign), "\(sign)")
    }
  }

  @Test func `a link to the runbook is below the server's own address, or where the setting says`()
    async throws
  {
    for (yaml, expected) in [
      ("{}", "/docs/runbook"),
      ("external_urls: [\"https://calls.example.com/gate/\"]", "https://calls.example.com/gate/docs/runbook"),
      (
        "external_urls: [\"https://calls.example.com\"]\nadmin: { runbooks: \"https://wiki.example.com/callgate\" }",
        "https://wiki.example.com/callgate"
      ),
    ] {
      let service = try RunningService(environment: token, yaml: yaml)
      let fields: Fields = ["Authorization": "Bearer canary-operators-token"]
      _ = try await service.ask(
        .post, "/admin/stop", fields, content: Array(#"{"scope":"all","action":"callback"}"#.utf8))
      let status = try await service.ask(.get, "/admin/status", fields)
      let entry = try JSONValue(parsing: status.content)["attention"]?.array?.first
      #expect(entry?["runbook"]?.string == "\(expected)#callgatestopped")
      _ = try await service.end()
    }
  }
}
