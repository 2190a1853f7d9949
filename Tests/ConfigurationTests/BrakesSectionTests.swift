// Tests of how `callbacks.brakes` is read from the configuration.

import Gate
import Testing

@testable import Configuration
@testable import RoomSupport

@Suite struct BrakesSectionTests {
  private func brakes(_ yaml: String) throws -> [Int64] {
    let brakes = try Fixture.load(yaml).configuration.policy.brakes
    return Brake.allCases.map { brakes[$0] }
  }

  @Test func `they are on where nothing is said, with rules and without`() throws {
    for yaml in ["", "rules: []", "callbacks: { dedupe_window: 1s }", "callbacks: { brakes: {} }"] {
      #expect(try brakes(yaml) == [6, 500, 1000, 500], "\(yaml)")
    }
    let policy = try Fixture.policy("  - { name: mine, kind: field, field: X, equals: a }")
    #expect(policy.brakes == Brakes() && policy.rules.map(\.name) == ["mine"])
  }

  @Test func `what is left out keeps its figure, and 0 switches one off`() throws {
    #expect(try brakes("callbacks: { brakes: { number_per_day: 9 } }") == [9, 500, 1000, 500])
    #expect(try brakes("callbacks: { brakes: { per_5m: 0 } }") == [6, 0, 1000, 500])
    #expect(
      try brakes("callbacks: { brakes: { number_per_day: 0, per_5m: 1000000000, per_hour: 1 } }")
        == [0, 1_000_000_000, 1, 500])
    #expect(try brakes("callbacks: { brakes: { lookups: 0 } }") == [6, 500, 1000, 0])
    #expect(try brakes("callbacks: { brakes: off }") == [0, 0, 0, 0])
    #expect(try brakes("callbacks:\n  brakes: \"off\"") == [0, 0, 0, 0])
  }

  @Test(arguments: [
    ("callbacks: { brakes: on }", "config.yaml:1:22: callbacks.brakes: \"on\" is neither off nor a mapping"),
    ("callbacks: { brakes: 6 }", "config.yaml:1:22: callbacks.brakes: \"6\" is neither off nor a mapping"),
    ("callbacks:\n  brakes:", "config.yaml:2:3: callbacks.brakes: is empty"),
    ("callbacks: { brakes: [6] }", "config.yaml:1:22: callbacks.brakes: is a list, not a mapping"),
    (
      "callbacks: { brakes: { per_5m: -1 } }",
      "config.yaml:1:32: callbacks.brakes.per_5m: \"-1\" is not a number of callbacks from 0 to 1000000000"
    ),
    (
      "callbacks: { brakes: { per_hour: 1000000001 } }",
      "config.yaml:1:34: callbacks.brakes.per_hour: \"1000000001\" is not a number of callbacks"
    ),
    (
      "callbacks: { brakes: { number_per_day: off } }",
      "config.yaml:1:40: callbacks.brakes.number_per_day: \"off\" is not a number of callbacks"
    ),
    (
      "callbacks: { brakes: { per_day: 6 } }",
      "config.yaml:1:24: callbacks.brakes.per_day: unknown key"
    ),
    ("callbacks: { brake: off }", "config.yaml:1:14: callbacks.brake: unknown key — did you mean brakes?"),
    (
      "rules: [{ name: brake-mine, kind: field, field: X, equals: a }]",
      "config.yaml:1:17: rule \"brake-mine\": name: names that begin with \"brake-\" are reserved"
    ),
  ])
  func `mistakes are reported at their place`(yaml: String, beginning: String) {
    let problems = Fixture.problems(yaml)
    #expect(problems.count == 1)
    #expect(problems.first?.hasPrefix(beginning) == true, "\(problems)")
  }

  @Test func `the summary says which limits apply and which are off`() throws {
    func line(_ yaml: String) throws -> String? {
      ConfigurationSummary(try Fixture.load(yaml).configuration).lines.first { $0.hasPrefix("safety limits") }
    }
    #expect(
      try line("")
        == "safety limits on callbacks: 6 per number and day (UTC), 500 per 5 minutes, 1000 per hour")
    #expect(
      try line("callbacks: { brakes: { per_5m: 0, per_hour: 9 } }")
        == "safety limits on callbacks: 6 per number and day (UTC), 9 per hour; off: brake-burst")
    #expect(
      try line("callbacks: { brakes: off }")
        == "safety limits on callbacks: none; off: brake-number, brake-burst, brake-hour")
  }
}
