// Tests that the policies in docs/build/rules.md and Examples/samples/rules load and pass their own tests.

import Foundation
import TestSupport
import Testing

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// The policies in docs/build/rules.md and Examples/samples/rules pass their own tests.
@Suite struct DocumentedRulesTests {
  /// A configuration from the page, and the tests below it.
  struct Policy: Sendable, CustomTestStringConvertible {
    var heading: String
    var configuration: String
    var tests: String
    var testDescription: String { heading }
  }

  private static let policies: [Policy] = {
    var policies: [Policy] = []
    var heading = ""
    var configuration: String?
    var block: [Substring]?
    let page = Checkout.root.appending(path: "docs/build/rules.md")
    guard let text = try? String(contentsOf: page, encoding: .utf8) else { return [] }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("## ") { heading = String(line.dropFirst(3)) }
      if line == "```yaml" {
        block = []
      } else if line == "```", let lines = block {
        let yaml = lines.joined(separator: "\n")
        if yaml.hasPrefix("tests:") {
          policies.append(Policy(heading: heading, configuration: configuration ?? "", tests: yaml))
          configuration = nil
        } else {
          // A configuration without tests stays here and makes the last test fail.
          configuration = (configuration ?? "") + yaml
        }
        block = nil
      } else {
        block?.append(line)
      }
    }
    if let configuration {
      policies.append(Policy(heading: heading, configuration: configuration, tests: ""))
    }
    return policies
  }()

  @Test(arguments: policies) func `every policy of the page passes its own tests`(policy: Policy) throws {
    let configuration = try Fixture.load(policy.configuration, environment: [:], for: .explain).configuration
    let result = try OfflineRules(configuration, transport: nil)
      .test("tests.yaml", files: Fixture.reader(["tests.yaml": Fixture.content(policy.tests)]))
    #expect(result.failures == [])
    #expect(result.passed > 0)
  }

  @Test(arguments: policies) func `a server would take every policy of the page`(policy: Policy) throws {
    // Installations need a store key.
    let environment = Fixture.environment.merging(["CALLGATE_STORE_KEY": String(repeating: "0f", count: 32)])
    { $1 }
    #expect(throws: Never.self) { try Fixture.load(policy.configuration, environment: environment) }
  }

  @Test func `the example, seven policies and safety limits have tests`() {
    #expect(
      Set(Self.policies.map { $0.heading.prefix { $0 != "." } })
        == Set((1...7).map { "\($0)" } + ["", "Safety limits"]))
    #expect(Self.policies.allSatisfy { !$0.configuration.isEmpty && !$0.tests.isEmpty })
  }

  @Test func `the shipped example passes its own tests`() throws {
    let folder = Checkout.root.appending(path: "Examples/samples/rules")
    let sources = ConfigurationSources(
      flags: ConfigurationFlags(config: folder.appending(path: "callgate.yaml").path), files: .system)
    let configuration = try ConfigurationLoader.load(sources, for: .explain).configuration
    let result = try OfflineRules(configuration, transport: nil)
      .test(folder.appending(path: "tests.yaml").path, files: .system)
    #expect(result.failures == [])
    #expect(result.passed == 20)
  }
}
