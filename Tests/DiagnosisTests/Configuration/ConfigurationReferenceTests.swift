// Tests that docs/operate/configuration.md matches the declared settings.

import Foundation
import TestSupport
import Testing

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// The documents agree with the declarations.
@Suite struct ConfigurationReferenceTests {
  private func text(_ path: String) -> String? {
    // A missing file has no text. The callers decide what that means.
    try? String(contentsOf: Checkout.root.appending(path: path), encoding: .utf8)
  }

  @Test func `docs/operate/configuration.md is what callgate reference prints`() throws {
    let document = try #require(text("docs/operate/configuration.md"))
    #expect(document == ConfigurationReference.document)
  }

  @Test(arguments: ConfigurationReference.Schema.allCases)
  func `docs/schema is what callgate reference --schema prints`(_ schema: ConfigurationReference.Schema) {
    #expect(text("docs/schema/\(schema.fileName)") == schema.document)
  }

  @Test func `every variable and every key stands in the documents once, unless only tests need it`() {
    let document = ConfigurationReference.document
    for setting in Settings.all {
      let names = [setting.path, setting.variable].compactMap(\.self).map { "`\($0)`" }.joined(
        separator: ", ")
      let isLeftOut =
        setting.isForTests || setting.path?.hasPrefix(ConfigurationReference.nextSigner + ".") == true
      #expect(
        ["\n- \(names): ", "\n- \(names) ("].reduce(0) { $0 + document.components(separatedBy: $1).count - 1 }
          == (isLeftOut ? 0 : 1), "\(names)")
      #expect(setting.meaning.hasSuffix("."))
      #expect(!setting.example.isEmpty)
    }
  }

  @Test func `the example of the document loads`() throws {
    let document = ConfigurationReference.document
    let yaml = try #require(
      document.components(separatedBy: "```yaml\n").last?.components(separatedBy: "```").first)
    let files = [
      "/run/secrets/talkdesk-credential": Fixture.content("a-client-secret"),
      "/run/secrets/ios-app-password": Fixture.content("a long password"),
    ]
    #expect(Fixture.problems(yaml, environment: [:], files: files) == [])
  }

  @Test func `every example of a variable is taken`() throws {
    for setting in Settings.scalars {
      guard let variable = setting.variable, setting.form == .text || setting.form == .list else { continue }
      if variable.hasPrefix("CALLGATE_CONFIG") || variable == "CALLGATE_FORWARDED_HOPS" { continue }
      #expect(
        Fixture.problems(environment: Fixture.changed([variable: setting.example])) == [], "\(variable)")
    }
  }
}
