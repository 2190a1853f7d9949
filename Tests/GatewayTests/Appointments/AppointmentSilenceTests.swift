// Tests of appointments whose owners are asked before the call and answer never or at the last moment.

import Gate
import HTTPServer
import JSON
import Platform
import Store
import TestSupport
import Testing

@testable import Appointments
@testable import Delivery
@testable import DeliverySupport

@Suite(.timeLimit(.minutes(2))) struct AppointmentSilenceTests {
  @Test func `silence cancels where a provider took the question, and calls otherwise`() async throws {
    let yaml = CarrierFixture.yaml(more: "appointments: { confirm: { silence: cancel } }")
    for (state, status) in [
      (NoticeOutcome.taken, StoredCallback.Status.cancelled), (.dropped, .accepted), (nil, .accepted),
    ] as [(NoticeOutcome?, StoredCallback.Status)] {
      let fixture = try CarrierFixture(.accepted, yaml: yaml)
      let booking = try await fixture.book(askedBefore: .seconds(120))
      if let state { try await fixture.send(booking, state) }
      try await fixture.carryOut(booking)
      #expect(try await fixture.record(booking).status == status, "\(String(describing: state))")
      #expect(try await fixture.isGivenBack() == (status == .cancelled))
      let line = try fixture.auditLine()
      #expect((line["reason"] == "its owner did not confirm it") == (status == .cancelled))
      #expect(line["decision"] == (status == .cancelled ? "deny" : "allow"))
    }
  }

  @Test func `an answer in the last moment wins over silence`() async throws {
    let yaml = CarrierFixture.yaml(more: "appointments: { confirm: { silence: cancel } }")
    let fixture = try CarrierFixture(.accepted, yaml: yaml)
    let booking = try await fixture.book(askedBefore: .seconds(120))
    try await fixture.send(booking, .taken)
    let due = try await fixture.due(booking)
    fixture.delivery.time.advance(by: booking.at - fixture.now)
    // The customer answers after the keeper has read the appointment.
    let change = Rescheduling(
      id: booking.intent.id, serial: 1, from: booking.at, at: booking.at, confirmAt: nil,
      deadline: booking.intent.deadline,
      mostSnoozes: nil)
    guard case .rescheduled = try await fixture.memory.reschedule(change, at: fixture.now) else {
      Issue.record("the answer came too late")
      return
    }
    #expect(await fixture.carrier().handle(due) == .done)
    #expect(try await fixture.record(booking).status == .scheduled)
    try await fixture.carryOut(booking)
    #expect(try await fixture.record(booking).status == .accepted)
  }

  @Test func `silence calls by default`() async throws {
    let fixture = try CarrierFixture(
      .accepted, yaml: CarrierFixture.yaml(more: "appointments: { confirm: {} }"))
    let booking = try await fixture.book(askedBefore: .seconds(120))
    try await fixture.send(booking, .taken)
    try await fixture.carryOut(booking)
    #expect(try await fixture.record(booking).status == .accepted)
  }
}
