// Tests of how `appointments` is read from the configuration. Its mistakes are in Tests/Fixtures/configurations/mistakes.txt.

import Testing

@testable import Configuration
@testable import RoomSupport

@Suite struct AppointmentsSectionTests {
  private let files = ["store-key": Fixture.content(String(repeating: "01", count: 32))]

  private func load(
    _ yaml: String, for purpose: ConfigurationPurpose = .serve
  ) throws -> Configuration {
    try Fixture.load(yaml, files: files, for: purpose).configuration
  }

  @Test func `they are off without the section, and have the documented defaults with it`() throws {
    #expect(try load("callbacks: {}").appointments == nil)
    let defaults = try #require(
      try load("store: { key_file: store-key }\nappointments: {}").appointments)
    #expect(defaults == Configuration.Appointments())
    for setting in Settings.all
    where setting.path?.split(separator: ".").count == 2 && setting.path?.hasPrefix("appointments.") == true {
      let key = try #require(setting.path?.split(separator: ".").last)
      let yaml = "store: { key_file: store-key }\nappointments: { \(key): \(setting.standard ?? "") }"
      #expect(try load(yaml).appointments == defaults, "\(key)")
    }
  }

  @Test(arguments: [
    "slot: 1m", "slot: 1d", "slot: 61s", "per_slot: 1", "per_slot: 10000", "horizon: 400d", "earliest: 0s",
    "earliest: 1m, horizon: 61s", "late: 1s", "late: 1h", "per_number: 1", "per_number: 100",
  ])
  func `the last figures that are taken are taken`(member: String) throws {
    let yaml = "store: { key_file: store-key }\nappointments: { \(member) }"
    #expect(try load(yaml).appointments != nil)
  }

  @Test func `the sandbox takes the file's own figures, and needs neither key nor store`() throws {
    let yaml = "appointments: { slot: 1m, per_slot: 2 }"
    #expect(
      try load(yaml, for: .sandbox).appointments == Configuration.Appointments(slot: .seconds(60), perSlot: 2)
    )
  }

  @Test func `commands that open no store need neither either`() throws {
    for purpose in [ConfigurationPurpose.explain, .token] {
      #expect(try load("store: { url: memory }\nappointments: {}", for: purpose).appointments != nil)
    }
  }

  @Test func `the summary says what may be booked, where anything may`() throws {
    func line(_ yaml: String) throws -> String? {
      ConfigurationSummary(try load(yaml)).lines.first { $0.hasPrefix("appointments") }
    }
    #expect(try line("callbacks: {}") == nil)
    #expect(
      try line("store: { key_file: store-key }\nappointments: { per_slot: 3 }")
        == "appointments: 3 per slot of 15m, from 5m to 30d ahead, 1 per owner and number, at most 3m late")
  }
}
