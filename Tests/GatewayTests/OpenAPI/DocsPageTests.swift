// Tests of the API documentation page and its security policy.

import HTTP
import JOSE
import JSON
import Pages
import Testing

@testable import API
@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct DocsPageTests {
  private let caller = ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"]

  private func matches(_ pattern: Regex<(Substring, Substring)>, in text: String) -> [String] {
    text.matches(of: pattern).map { String($0.output.1) }
  }

  @Test func `the page shows every path, code and schema, and its links lead somewhere`() async throws {
    let service = try RunningService(environment: caller)
    let answer = try await service.ask(.get, "/docs")
    #expect(answer.status == 200)
    #expect(answer.fields["Content-Type"] == "text/html; charset=utf-8")
    let page = String(decoding: answer.content, as: UTF8.self)
    for path in Endpoint.all.flatMap(\.paths) {
      #expect(page.contains("<code>\(path)</code>"), "\(path)")
    }
    for code in Problem.Code.allCases { #expect(page.contains(#"id="code-\#(code.rawValue)""#)) }
    let ids = matches(#/ id="([^"]*)"/#, in: page)
    #expect(Set(ids).count == ids.count)
    for target in matches(/href="#([^"]*)"/, in: page) { #expect(ids.contains(target), "\(target)") }
    _ = try await service.end()
  }

  @Test(arguments: [
    ("getAccess", "curl \"$CALLGATE/access\" \\\n  -u \"$CALLGATE_USERNAME:$CALLGATE_PASSWORD\""),
    ("listOwnCallbacks", "curl \"$CALLGATE/callbacks?status=scheduled\" \\\n  -u"),
    ("deleteCallback", "curl -X DELETE \"$CALLGATE/callbacks/0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87\" \\"),
    (
      "postReload",
      "curl -X POST \"$CALLGATE/admin/reload\" \\\n  -H \"Authorization: Bearer $CALLGATE_ADMIN_TOKEN\""
    ),
    ("patchCallback", "-d '{\"at\":"), ("getLiveness", "curl \"$CALLGATE/livez\"</pre>"),
  ])
  func `each operation has its curl command`(_ id: String, _ command: String) async throws {
    let service = try RunningService(environment: caller)
    let page = String(decoding: try await service.ask(.get, "/docs").content, as: UTF8.self)
    let article = try #require(page.split(separator: "<article id=\"").first { $0.hasPrefix("\(id)\"") })
    #expect(article.replacing("&quot;", with: "\"").replacing("&#39;", with: "'").contains(command))
    _ = try await service.end()
  }

  @Test func `the page has no script, and its policy allows only its own style`() async throws {
    let service = try RunningService(environment: caller)
    let answer = try await service.ask(.get, "/docs")
    let page = String(decoding: answer.content, as: UTF8.self)
    for sign in ["<script", " style=", " onclick", "http://", "https://", "src="] {
      // Schemas may name what URLs begin with.
      #expect(
        !page.replacing("^https?://", with: "").replacing("<code>https", with: "").contains(sign), "\(sign)")
    }
    let style = try #require(matches(/<style>([^<]*)<\/style>/, in: page).first)
    let digest = Base64.encode(SHA256.digest(Array(style.utf8)))
    let policy = try #require(answer.fields["Content-Security-Policy"])
    #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-\(digest)';"))
    #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
    #expect(answer.fields["X-Content-Type-Options"] == "nosniff")
    #expect(answer.fields["Referrer-Policy"] == "no-referrer")
    _ = try await service.end()
  }

  @Test func `the page takes its colours from the design`() {
    #expect(DocsPage.style.hasSuffix(PageFile.docsStyle.text))
    #expect(PageFile.docsStyle.text.matches(of: /#[0-9a-f]{3,8}\b|rgb|hsl/).isEmpty)
  }

  @Test func `the document is served, and says when it has not changed`() async throws {
    let service = try RunningService(environment: caller)
    for path in ["/openapi.json", "/docs"] {
      let first = try await service.ask(.get, path)
      let tag = try #require(first.fields["ETag"])
      #expect(first.status == 200 && first.fields["Cache-Control"] == "no-cache")
      for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
        let again = try await service.ask(.get, path, ["If-None-Match": known])
        #expect(again.status == 304 && again.content.isEmpty && again.fields["ETag"] == tag, "\(known)")
      }
      for other in ["\"other\"", tag.replacing("\"", with: ""), ""] {
        #expect(try await service.ask(.get, path, ["If-None-Match": other]).status == 200, "\(other)")
      }
      #expect(try await service.ask(.head, path).status == 200)
      #expect(try await service.ask(.post, path).status == 405)
    }
    let served = try JSONValue(parsing: try await service.ask(.get, "/openapi.json").content)
    #expect(served == .object(APIDocument(endpoints: Endpoint.all, allowsAnonymous: false).json))
    _ = try await service.end()
  }

  @Test func `a server that lets anonymous callers in says so, after a reload too`() async throws {
    let service = try RunningService(environment: caller)
    func schemes() async throws -> [JSONValue]? {
      try JSONValue(parsing: try await service.ask(.get, "/openapi.json").content)["paths"]?["/access"]?[
        "get"]?[
          "security"]?.array
    }
    #expect(try await schemes()?.contains([:]) == false)
    let tag = try await service.ask(.get, "/openapi.json").fields["ETag"]
    service.rewrite("allow_anonymous: true")
    #expect(await service.reload())
    #expect(try await schemes()?.contains([:]) == true)
    #expect(try await service.ask(.get, "/openapi.json").fields["ETag"] != tag)
    _ = try await service.end()
  }

  @Test func `text never becomes markup`() {
    #expect(
      HTMLText.inline(#"a<b> & "c" 'd' `<e>`"#)
        == "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; <code>&lt;e&gt;</code>")
    #expect(HTMLText.paragraphs("a\n\nb") == "<p>a</p>\n<p>b</p>\n")
    #expect(
      HTMLText.pretty(["a": [1, "b"], "c": [], "d": [:]])
        == "{\n  \"a\": [\n    1,\n    \"b\"\n  ],\n  \"c\": [],\n  \"d\": {}\n}")
  }
}
