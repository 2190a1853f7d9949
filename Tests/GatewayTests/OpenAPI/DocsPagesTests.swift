// Tests of the pages of the API documentation and their security policy.

import HTTP
import JSON
import Pages
import Testing

@testable import API
@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct DocsPagesTests {
  private let caller = ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"]
  private static let names = APIOperation.Tag.allCases.map(\.path) + ["errors", "schemas"]

  private func matches(_ pattern: Regex<(Substring, Substring)>, in text: String) -> [String] {
    text.matches(of: pattern).map { String($0.output.1) }
  }

  /// All pages, by their paths.
  private func pages(_ service: RunningService) async throws -> [String: String] {
    var pages: [String: String] = [:]
    for path in ["/docs"] + Self.names.map({ "/docs/\($0)" }) {
      let answer = try await service.ask(.get, path)
      #expect(answer.status == 200 && answer.fields["Content-Type"] == "text/html; charset=utf-8", "\(path)")
      pages[path] = String(decoding: answer.content, as: UTF8.self)
    }
    return pages
  }

  @Test func `the pages show every path, code and schema, and their links lead somewhere`() async throws {
    let service = try RunningService(environment: caller)
    let pages = try await pages(service)
    let ids = pages.mapValues { matches(#/ id="([^"]*)"/#, in: $0) }
    for endpoint in Endpoint.all {
      for operation in endpoint.operations where operation.original == nil {
        let page = try #require(pages["/docs/\(operation.tag.path)"])
        #expect(page.contains("<code>\(endpoint.paths[0])</code>"), "\(endpoint.paths[0])")
        #expect(page.contains(#"<article id="\#(operation.id)""#), "\(operation.id)")
        #expect(page.contains(HTMLText.escaped(operation.summary)))
      }
    }
    for code in Problem.Code.allCases {
      #expect(ids["/docs/errors"]?.contains("code-\(code.rawValue)") == true)
    }
    for (name, _) in APISchemas.all { #expect(ids["/docs/schemas"]?.contains("schema-\(name)") == true) }
    for (path, page) in pages {
      #expect(page.utf8.count <= 300_000, "\(path)")
      let own = try #require(ids[path])
      #expect(Set(own).count == own.count, "\(path)")
      for target in matches(/href="(\/docs[^"]*|#[^"]*)"/, in: page) where !target.hasSuffix(".css") {
        let parts = target.split(separator: "#", omittingEmptySubsequences: false)
        let known = try #require(ids[parts[0].isEmpty ? path : String(parts[0])], "\(path): \(target)")
        #expect(parts.count == 1 || known.contains(String(parts[1])), "\(path): \(target)")
      }
    }
    _ = try await service.end()
  }

  @Test func `the list beside each page names all operations`() async throws {
    let service = try RunningService(environment: caller)
    for (path, page) in try await pages(service) {
      let nav = try #require(page.split(separator: "<nav ").last)
      for operation in Endpoint.all.flatMap(\.operations) where operation.original == nil {
        #expect(nav.contains("</b> \(HTMLText.escaped(operation.summary))</a>"), "\(path): \(operation.id)")
      }
    }
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
  func `each operation has its curl command, in which a script puts the address`(
    _ id: String, _ command: String
  )
    async throws
  {
    let service = try RunningService(environment: caller)
    let all = try await pages(service).values.joined()
    let article = try #require(all.split(separator: "<article id=\"").first { $0.hasPrefix("\(id)\"") })
    let text = article.replacing("&quot;", with: "\"").replacing("&#39;", with: "'")
    #expect(text.contains(#""<span class="address">$CALLGATE</span>/"#))
    #expect(
      text.replacing(#"<span class="address">$CALLGATE</span>"#, with: "$CALLGATE").contains(command))
    _ = try await service.end()
  }

  @Test func `no page has what the client says of the host`() async throws {
    let service = try RunningService(environment: caller)
    for name in Self.names {
      let answer = try await service.ask(.get, "/docs/\(name)", ["X-Forwarded-Host": "canary.example"])
      #expect(!String(decoding: answer.content, as: UTF8.self).contains("canary.example"))
      #expect(
        !String(decoding: answer.content, as: UTF8.self).contains(
          "127.0.0.1:\(service.baseURL.split(separator: ":").last ?? "")"))
    }
    _ = try await service.end()
  }

  @Test func `script and style are files, and the policy allows no others`() async throws {
    let service = try RunningService(environment: caller)
    for (path, page) in try await pages(service) {
      for sign in ["<script>", "<style", " style=", " onclick", "=\"http", "url("] {
        #expect(!page.contains(sign), "\(path): \(sign)")
      }
      let policy = try #require(
        try await service.ask(.get, path).fields["Content-Security-Policy"])
      #expect(policy.hasPrefix("default-src 'none'; style-src 'self'; script-src 'self'; "))
      #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
      #expect(!policy.contains("connect-src") && policy.contains("require-trusted-types-for 'script'"))
    }
    let style = try await service.ask(.get, "/docs/docs.css")
    #expect(style.status == 200 && style.fields["Content-Type"] == "text/css; charset=utf-8")
    #expect(style.content == PageFile.design.octets + PageFile.docsStyle.octets)
    let script = try await service.ask(.get, "/docs/docs.js")
    #expect(script.fields["Content-Type"] == "text/javascript; charset=utf-8")
    #expect(script.fields["X-Content-Type-Options"] == "nosniff")
    #expect(script.content == PageFile.docsScript.octets && script.content.count <= 60_000)
    _ = try await service.end()
  }

  @Test(arguments: ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("])
  func `no text can become markup or code`(sink: String) {
    #expect(!PageFile.docsScript.text.contains(sink))
  }

  @Test(arguments: ["", "Callbacks", "none", "callbacks%2F", "%00", "%25", "..", "docs.html"])
  func `other pages are not there`(name: String) async throws {
    let service = try RunningService(environment: caller)
    #expect(try await service.ask(.get, "/docs/\(name)").status == 404)
    _ = try await service.end()
  }

  @Test func `the documents are served, and say when they have not changed`() async throws {
    let service = try RunningService(environment: caller)
    for path in ["/openapi.json", "/docs", "/docs/callbacks", "/docs/docs.css"] {
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
    func page() async throws -> String {
      String(decoding: try await service.ask(.get, "/docs/tokens").content, as: UTF8.self)
    }
    #expect(try await schemes()?.contains([:]) == false)
    #expect(try await page().contains("The caller sends credentials."))
    let tag = try await service.ask(.get, "/openapi.json").fields["ETag"]
    service.rewrite("allow_anonymous: true")
    #expect(await service.reload())
    #expect(try await schemes()?.contains([:]) == true)
    #expect(!(try await page().contains("The caller sends credentials.")))
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
