// Tests of what the endpoints show after an installation is revoked or delivered again.

import Foundation
import Gate
import HTTP
import JSON
import Platform
import Store
import TestSupport
import Testing

@testable import Gateway

@Suite struct GenerationEndpointTests {
  private static let in2Days = AppointmentFixture.hour(48)
  private static let menu = "get-dialog-user-confirmation-provide_code-true"

  private static func revoke(_ fixture: DialogFixture) async throws {
    let answer = try await fixture.appointments.calls.send(
      .delete, "/installations/self", fields: fixture.phone)
    #expect(answer.status == 204)
  }

  @Test(arguments: ["cancel", "connect", "snooze", "connect-inbound", "changed", menu])
  func `a notice of a revoked installation is unknown`(_ action: String) async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    #expect(try await fixture.post(Self.menu).status == 200)
    try await Self.revoke(fixture)
    #expect(try await fixture.post(action).summary == "404 not_found")
    // The user can read how the appointment ended.
    let ann = try AppointmentFixture.user("ann")
    let record = try await fixture.appointments.look(booked.id, fields: ann).json
    #expect(record?["status"] == "cancelled" && record?["reason"] == "revoked")
    // Slot, number and allowances are free again.
    #expect(try await fixture.appointments.book(Self.in2Days, fields: ann).status == 201)
    let line = try await fixture.end().first { $0["action"] == "revoke" }
    #expect(line?["cancelled"]?.int == 1)
  }

  @Test func `the next user of a phone gets nothing of the one before`() async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    try await Self.revoke(fixture)
    let bob = try await fixture.appointments.enrol(fixture.installation, "bob")
    #expect(try await fixture.register("bob-device", by: bob) == 204)
    #expect(try await fixture.take(DialogFixture.id("B")) == nil)
    for id in [DialogFixture.id(), DialogFixture.id("B")] {
      #expect(
        try await fixture.appointments.calls.send(.get, "/notices/\(id)", fields: bob).summary
          == "404 not_found")
    }
    #expect(try await fixture.appointments.look(booked.id, fields: bob).status == 404)
    _ = try await fixture.end()
  }

  @Test func `the same user's next installation has the appointments, and is asked again`() async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    let again = try await fixture.appointments.enrol(fixture.installation, "ann")
    #expect(try await fixture.post("cancel").summary == "404 not_found")
    #expect(try await fixture.take(DialogFixture.id("B")) == nil)
    #expect(try await fixture.register("canary-device", by: again) == 204)
    #expect(try await fixture.take(DialogFixture.id("B")) == .confirmWithCode)
    #expect(try await fixture.post(Self.menu, DialogFixture.id("B")).status == 200)
    #expect(
      try await fixture.appointments.move(booked.id, to: AppointmentFixture.hour(72), fields: again).status
        == 200)
    #expect(try await fixture.appointments.look(booked.id, fields: again).json?["status"] == "scheduled")
    _ = try await fixture.end()
  }

  @Test(arguments: [true, false])
  func `a request that waits gets 401 once its installation is gone`(_ isReplaced: Bool)
    async throws
  {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    async let waiting = fixture.look(booked.id, query: "?wait=20")
    try await eventually { fixture.appointments.calls.service.waitingForChanges > 0 }
    let start = ContinuousClock.now
    if isReplaced {
      _ = try await fixture.appointments.enrol(fixture.installation, "ann")
    } else {
      try await Self.revoke(fixture)
    }
    let answer = try await waiting
    #expect(answer.summary == "401 unauthenticated" && answer.json?["verification_code"] == nil)
    // Long before the wait is over.
    #expect(start.duration(to: .now) < .seconds(15))
    _ = try await fixture.end()
  }

  @Test
  func `each registration is audited, another owner's device id is taken, and a replaced device is told`()
    async throws
  {
    let fixture = try await DialogFixture()
    let bob = try await fixture.appointments.enrol(UUID().uuidString.lowercased(), "bob")
    #expect(try await fixture.register("canary-device", by: bob) == 409)
    #expect(try await fixture.register("canary-other", by: fixture.phone) == 204)
    #expect(try await fixture.register("canary-device", by: bob) == 409)
    let removed = try await fixture.appointments.calls.send(
      .delete, "/installations/self/push", fields: fixture.phone)
    #expect(removed.status == 204)
    #expect(try await fixture.register("canary-device", by: bob) == 204)
    let lines = try await fixture.end().filter { $0["action"] == "device" }
    #expect(lines.map { $0["code"]?.string } == [nil, "taken", nil, "taken", nil, nil])
    #expect(lines.someAndAll { $0["installation"] != nil && $0["address"] != nil })
  }
}
