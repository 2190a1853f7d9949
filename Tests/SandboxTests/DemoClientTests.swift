// Tests of the demo page and its security policy.

import HTTP
import JSON
import Pages
import Testing

@testable import Sandbox

@Suite struct DemoClientTests {
  @Test func `the page brings its policy and needs nothing from elsewhere`() async throws {
    try await RunningEmulator.run { emulator in
      let reply = try #require(try await emulator.http.send("GET", "/"))
      #expect(reply.fields["Content-Type"] == "text/html; charset=utf-8")
      let policy = try #require(reply.fields["Content-Security-Policy"])
      #expect(policy.hasPrefix("default-src 'none';"))
      #expect(!policy.contains("unsafe") && !policy.contains("*") && !policy.contains("http"))
    }
    for text in [PageFile.demo.text, PageFile.demoScript.text, PageFile.demoStyle.text] {
      #expect(!text.contains("https://"))
      #expect(!text.contains("//cdn"))
      #expect(!text.contains("@import"))
    }
  }

  @Test func `the policy allows everything on the page`() {
    // Without 'unsafe-inline' the markup may not contain a script, style or handler.
    for forbidden in ["style=", "<style", " onclick", " onload", " onsubmit", "javascript:", "<script>"] {
      #expect(!PageFile.demo.text.contains(forbidden))
    }
  }

  @Test func `the page takes its colours from the design`() {
    #expect(PageFile.demoStyle.text.matches(of: /#[0-9a-f]{3,8}\b|rgb|hsl/).isEmpty)
  }

  @Test func `nothing that is fetched can become markup`() {
    for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
      #expect(!PageFile.demoScript.text.contains(sink))
    }
  }

  @Test func `every element the script asks for is on the page, and every field has a label`() {
    let ids = PageFile.demo.text.matches(of: /id="([a-z-]+)"/).map { String($0.1) }
    #expect(Set(ids).count == ids.count)
    let asked = PageFile.demoScript.text.matches(of: /\$\("([a-z-]+)"\)/).map { String($0.1) }
    #expect(!asked.isEmpty)
    for id in asked { #expect(ids.contains(id), "\(id)") }
    let inputs = PageFile.demo.text.matches(of: /<(?:input|select) id="([a-z-]+)"/).map { String($0.1) }
    #expect(inputs.count == 17)
    for id in inputs {
      let labels = ["<label for=\"\(id)\">", "<label><input id=\"\(id)\""]
      #expect(labels.contains { PageFile.demo.text.contains($0) }, "\(id)")
    }
  }

  @Test func `the buttons' faults are faults`() throws {
    // The table in the script is JSON except for its unquoted names.
    let faults = PageFile.demoScript.text.matches(of: /(\{ endpoint: .*\})\],/).map { String($0.1) }
    #expect(faults.count == 24)
    for fault in faults {
      let text = fault.replacing(#/([a-z_]+): /#) { "\"\($0.output.1)\":" }
      #expect(throws: Never.self, "\(text)") { try FaultParser.parse(JSONValue(parsing: Array(text.utf8))) }
    }
  }

  @Test func `the page and its parts have at most 120 KB, of which the script has 60`() {
    #expect(PageFile.demoScript.octets.count <= 60_000)
    let parts = [PageFile.demo.text, PageFile.demoScript.text, PageFile.demoStyle.text]
    #expect(parts.map(\.utf8.count).reduce(0, +) <= 120_000)
  }

  @Test(arguments: ["/", "/_sandbox/demo.js", "/_sandbox/demo.css"])
  func `a browser with the same version gets 304, and another method 405`(path: String) async throws {
    try await RunningEmulator.run { emulator in
      let first = try #require(try await emulator.http.send("GET", path))
      let tag = try #require(first.fields["ETag"])
      #expect(first.status == 200 && first.fields["Cache-Control"] == "no-cache")
      for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
        let again = try #require(
          try await emulator.http.send("GET", path, fields: [("If-None-Match", known)]))
        #expect(again.status == 304 && again.content.isEmpty && again.fields["ETag"] == tag, "\(known)")
      }
      let changed = try await emulator.http.send("GET", path, fields: [("If-None-Match", "\"other\"")])
      #expect(changed?.status == 200)
      let refused = try #require(try await emulator.http.send("POST", path))
      #expect(refused.status == 405 && refused.fields["Allow"] == "GET, HEAD")
    }
  }
}
