// Tests that docs/operate/configuration.md matches the declared settings.

import Foundation
import TestSupport
import Testing

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// The documents say what the declarations say.
@Suite struct ConfigurationReferenceTests {
  private func text(_ path: String) -> String? {
    // A file that is not there has no text: the callers say what that means.
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

  @Test func `every variable and every key stands in the documents once`() {
    for setting in Settings.all {
      let document = ConfigurationReference.document
      if let path = setting.path {
        let next = ConfigurationReference.nextSigner
        let key = path.hasPrefix(next) ? "\(next).*" : path
        #expect(document.components(separatedBy: "\n| `\(key)` ").count == 2, "\(path)")
      }
      if let name = setting.variable {
        #expect(document.components(separatedBy: "\n| `\(name)` |").count == 2, "\(name)")
      }
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
