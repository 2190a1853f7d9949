// Tests of the operator page: its size, its parts, and that no text can become markup.

import Testing

@testable import Pages

@Suite struct OperatorPageTests {
  @Test func `the page with all its parts has at most 120 KB`() {
    let parts = [OperatorPage.html, OperatorPage.style, OperatorPage.script]
    #expect(parts.reduce(0) { $0 + $1.utf8.count } <= 120_000)
  }

  @Test func `the page takes its colours from the design`() {
    #expect(OperatorPage.style == PageFile.design.text + PageFile.operatorsStyle.text)
    #expect(PageFile.operatorsStyle.text.matches(of: /#[0-9a-f]{3,8}\b|rgb|hsl/).isEmpty)
  }

  @Test func `the page requests nothing from elsewhere`() {
    let page = OperatorPage.html
    let elsewhere = page.matches(of: /(src|href|action)="([^"]*)"/).map { String($0.2) }
      .filter { !$0.hasPrefix("#") && !$0.hasPrefix("data:image/svg+xml,") }
    #expect(elsewhere == ["/admin/operator.css", "/admin/operator.js"])
    // The namespace of SVG, which is never requested.
    #expect(
      (page + OperatorPage.script).matches(of: /https?:\/\/[^"]*/).map { String($0.0) } == [
        "http://www.w3.org/2000/svg"
      ])
  }

  @Test(arguments: ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("])
  func `no text can become markup or code`(sink: String) {
    #expect(!OperatorPage.script.contains(sink))
  }

  @Test func `no class of the design is named by what the server says`() {
    // `decision`, `state` and similar words of the API are also names of components, so they go into data
    // attributes.
    let written = OperatorPage.script.matches(of: /className = (.*);|class: (\w+)/).map { String($0.0) }
    // A state that the page has no tone for gets the default.
    #expect(
      written == [
        "className = name;", #"className = "badge " + (outlook[state.callbacks] ?? "");"#,
        #"className = "badge " + (state.status === "pass" ? "" : tones[state.status] ?? "");"#,
        #"className = "badge";"#,
      ])
  }

  @Test func `a stranger's text beside other words is isolated from them`() {
    #expect(OperatorPage.script.contains(#"make("bdi", text ?? "")"#))
    // A label for screen readers is not shown, and a fact has no text next to it.
    let lines = OperatorPage.script.split(separator: "\n").filter {
      $0.contains(/entry\.(client_app|client_detail|subject)\b/) && !$0.contains("aria-label")
        && !$0.contains(#"["app name", "#)
    }
    let mixed = lines.filter { $0.contains(/[^(]entry\.(client_app|client_detail|subject)\b/) }
    #expect(lines.count >= 3 && mixed.isEmpty, "\(mixed)")
  }

  @Test func `the token is kept for the tab, and never in a URL or a cookie`() {
    #expect(OperatorPage.script.contains("sessionStorage.setItem(tokenKey, token)"))
    #expect(!OperatorPage.script.contains("localStorage") && !OperatorPage.script.contains("cookie"))
  }

  @Test func `every element that the script names is there once`() {
    let page = OperatorPage.html
    let named = Set(
      OperatorPage.script.matches(of: /(?:\$|say|facts|table|update|attempt)\("([a-z-]+)"/).map {
        String($0.1)
      })
    #expect(named.count > 30)
    for id in named { #expect(page.split(separator: "id=\"\(id)\"").count == 2, "\(id)") }
  }

  @Test func `what needs a role is hidden until the server has named the operator`() {
    let guarded = OperatorPage.html.matches(of: /<[a-z]+ [^>]*data-role="([a-z]+)"[^>]*>/)
    #expect(Set(guarded.map { String($0.1) }) == ["approve", "operate"])
    #expect(guarded.allSatisfy { $0.0.contains(" hidden>") })
  }
}
