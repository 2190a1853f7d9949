// Tests of the pages' files in the program, and of the values inserted into them.

import Foundation
import Testing

@testable import Pages

@Suite struct PageFileTests {
  private static func source(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: "Sources/Pages/Files/\(name)"), encoding: .utf8)
  }

  @Test func `the program has a file's octets, and those of several files one after another`() throws {
    #expect(PageFile.design.text == (try Self.source("design.css")))
    let script = PageFile.operatorsScript.text
    #expect(script.hasPrefix(try Self.source("operator/shared.js") + "\n"))
    #expect(script.hasSuffix("\n" + (try Self.source("operator/polling.js"))))
  }

  @Test(arguments: [PageFile.demoScript, .docsScript, .operatorsScript])
  func `the script of a page has at most 60 KB`(script: PageFile) {
    #expect((1...60_000).contains(script.octets.count))
  }

  @Test func `a value enters a page escaped, and is not searched for names`() {
    let page = PageFile.docs.filled([
      "title": .text(#"{{version}}"<'&>"#), "version": .text(""), "content": .markup("<b>{{title}}</b>"),
      "contents": .markup(""),
    ])
    #expect(page.contains("<h1>{{version}}&quot;&lt;&#39;&amp;&gt;</h1>"))
    #expect(page.contains("<b>{{title}}</b>"))
  }

  @Test func `a page that names a value which it does not get ends the program`() async {
    await #expect(processExitsWith: .failure) { _ = PageFile.docs.filled(["title": .text("")]) }
  }
}
