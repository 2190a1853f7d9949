// Tests of due appointments: called, refused, tried again or expired, and what they give back.

import Gate
import HTTP
import HTTPServer
import JOSE
import JSON
import Metrics
import Platform
import Sealing
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Appointments
@testable import Callers
@testable import Delivery
@testable import DeliverySupport
@testable import Installations
@testable import Records

@Suite(.timeLimit(.minutes(2))) struct AppointmentCarrierTests {
  // MARK: Called

  @Test func `an appointment is called at its time, and its audit line is the booking's`() async throws {
    let fixture = try CarrierFixture(.accepted)
    let booking = try await fixture.book()
    #expect(try await fixture.carryOut(booking, late: .milliseconds(40)) == .done)
    #expect(try await fixture.record(booking).status == .accepted)
    #expect(fixture.delivery.courier.requests.count == 1)
    // The appointment keeps the allowance that its booking took, and takes no other.
    #expect(try await !fixture.isGivenBack())
    let line = try fixture.auditLine()
    #expect(
      line["request_id"] == "booking" && line["action"] == "callback" && line["trigger"] == "appointment")
    #expect(line["caller"] == "app" && line["app"] == "shop" && line["address"] == "203.0.113.9")
    #expect(line["decision"] == "allow" && line["code"] == nil && line["contact"] == "+*********65")
    #expect(line["callback"]?.string == booking.intent.id.description && line["upstream_status"]?.int == 299)
    #expect(line["cache"] == "miss")
    var text = MetricsText()
    fixture.delivery.parts.metrics.appointmentLateness.append(to: &text)
    let metrics = String(decoding: text.bytes, as: UTF8.self)
    #expect(metrics.contains("callgate_appointment_lateness_seconds_sum 0.04\n"))
    #expect(metrics.contains("callgate_appointment_lateness_seconds_count 1\n"))
  }

  @Test func `an appointment may be called until it is late, and then expires`() async throws {
    let fixture = try CarrierFixture(.accepted)
    let last = try await fixture.book()
    try await fixture.carryOut(last, late: .seconds(179))
    #expect(try await fixture.record(last).status == .accepted)

    let other = try CarrierFixture()
    let booking = try await other.book()
    let due = try await other.due(booking)
    try await other.carryOut(booking, late: .seconds(180) + .nanoseconds(1))
    #expect(try await other.record(booking).status == .expired)
    #expect(other.delivery.courier.requests.isEmpty)
    #expect(try await other.isGivenBack())
    // Handling it a second time gives nothing back and logs nothing.
    _ = await other.carrier().handle(due)
    #expect(try await !other.isGivenBack())
    let line = try other.auditLine()
    #expect(line["decision"] == "error" && line["code"] == nil && line["trigger"] == "appointment")
    #expect(line["reason"]?.string?.contains("time passed") == true)
  }

  @Test func `nothing happens before the time, though the clock was ahead when it was read`() async throws {
    let fixture = try CarrierFixture()
    let booking = try await fixture.book()
    let due = try await fixture.due(booking)
    fixture.delivery.time.advance(by: .seconds(599))
    #expect(await fixture.carrier().handle(due) == .done)
    #expect(try await fixture.record(booking).status == .scheduled)
    #expect(try fixture.lines().isEmpty)
  }

  // MARK: Tried again

  @Test func `an appointment is tried until it is late, and has one audit line`() async throws {
    let fixture = try CarrierFixture(
      .notAccepted(.unreachable), .notAccepted(.unreachable), .notAccepted(.unreachable))
    let booking = try await fixture.book()
    for wait in [0, 1, 3] {
      try await fixture.carryOut(booking, late: .seconds(wait))
      #expect(try await fixture.record(booking).status == .scheduled)
    }
    #expect(try await fixture.due(booking).tries == 3)
    // The server was away meanwhile.
    try await fixture.carryOut(booking, late: .seconds(181))
    let record = try await fixture.record(booking)
    #expect(record.status == .failed && record.code == "upstream_unavailable")
    #expect(try await fixture.isGivenBack())
    let line = try fixture.auditLine()
    #expect(line["decision"] == "error" && line["code"] == "upstream_unavailable")
  }

  @Test func `an appointment that Talkdesk rejects has failed and gives back, and an unknown one does not`()
    async throws
  {
    for (outcome, status, code, gives) in [
      (
        CourierReport.Outcome.notAccepted(.rejected(fields: [])), StoredCallback.Status.failed,
        "invalid_request", true
      ),
      (.unknown(isAnswered: false), .unknown, "outcome_unknown", false),
    ] {
      let fixture = try CarrierFixture(outcome)
      let booking = try await fixture.book()
      try await fixture.carryOut(booking)
      #expect(try await fixture.record(booking).status == status)
      #expect(try await fixture.isGivenBack() == gives)
      #expect(try fixture.auditLine()["code"]?.string == code)
    }
  }

  @Test func `a policy that has too much to do is asked again, until the appointment is late`() async throws {
    let remote = #"{ name: fraud, kind: remote, url: "https://policy.example/allow", on: [callback] }"#
    let fixture = try CarrierFixture(.accepted, yaml: CarrierFixture.yaml(rules: remote))
    let booking = try await fixture.book()
    fixture.policy.set(
      .failure(TransportError(.overloaded, sent: false, detail: "", retryAfter: .seconds(7))))
    try await fixture.carryOut(booking)
    let waiting = try await fixture.due(booking)
    #expect(waiting.tries == 1 && waiting.lastCode == "overloaded")
    #expect(waiting.due == booking.at.advanced(by: .seconds(7)))
    // The appointment is not tried before that.
    _ = await fixture.carrier().handle(waiting)
    #expect(try await fixture.due(booking) == waiting)
    try await fixture.carryOut(booking, late: .seconds(174))
    let record = try await fixture.record(booking)
    #expect(record.status == .failed && record.code == "overloaded")
    #expect(fixture.delivery.courier.requests.isEmpty)
    #expect(try fixture.auditLine()["code"] == "overloaded")

    let other = try CarrierFixture(.accepted, yaml: CarrierFixture.yaml(rules: remote))
    let second = try await other.book()
    other.policy.set(.failure(TransportError(.overloaded, sent: false, detail: "")))
    try await other.carryOut(second)
    other.policy.set(.success("true"))
    try await other.carryOut(second, late: .seconds(2))
    #expect(try await other.record(second).status == .accepted)
  }

  // MARK: Refused

  /// What has changed since the booking, and the code with which the appointment then fails.
  private static let refusals: [(yaml: String, code: String, rule: String?)] = [
    (CarrierFixture.yaml(callers: "other"), "denied", nil),
    (CarrierFixture.yaml(apps: "store: {}"), "denied", nil),
    (CarrierFixture.yaml(apps: "shop: { callers: [other] }", more: ""), "denied", nil),
    (
      CarrierFixture.yaml(
        rules: #"{ name: shut, kind: hours, timezone: UTC, weekly: { mon-sun: "00:00-00:01" } }"#), "closed",
      "shut"
    ),
    (
      CarrierFixture.yaml(rules: #"{ name: far, kind: numbers, deny: ["+1415"] }"#), "number_not_allowed",
      "far"
    ),
    (
      CarrierFixture.yaml(rules: #"{ name: fraud, kind: remote, url: "https://policy.example/allow" }"#),
      "denied", "fraud"
    ),
  ]

  @Test(arguments: refusals.indices)
  func `an appointment that may no longer be called has failed`(_ index: Int) async throws {
    let (yaml, code, rule) = Self.refusals[index]
    let fixture = try CarrierFixture()
    let booking = try await fixture.book()
    fixture.policy.set(.success(#"{"allow":false,"reason":"risk 97"}"#))
    let yamlWithOther =
      yaml.contains("callers: [other]")
      ? yaml.replacing("callers: [{", with: "callers: [{ id: other, api_key: { sha256: \(Self.digest) } }, {")
      : yaml
    try fixture.reload(yamlWithOther)
    try await fixture.carryOut(booking)
    let record = try await fixture.record(booking)
    #expect(record.status == .failed && record.code == code)
    #expect(fixture.delivery.courier.requests.isEmpty)
    let line = try fixture.auditLine()
    #expect(line["decision"] == "deny" && line["code"]?.string == code && line["rule"]?.string == rule)
    #expect(line["app"] == "shop")
    if rule == "fraud" { #expect(line["reason"] == "risk 97") }
    try fixture.reload(CarrierFixture.yaml())
    #expect(try await fixture.isGivenBack())
  }

  private static let digest = #""\#(String(repeating: "cd", count: 32))""#

  @Test func `what only counts is not judged again`() async throws {
    let fixture = try CarrierFixture(.accepted)
    let booking = try await fixture.book()
    try fixture.reload(
      CarrierFixture.yaml(
        rules: """
          { name: seldom, kind: quota, key: global, limit: 1, per: month },
          { name: paying, kind: claims, require: { tier: gold } },
          { name: office, kind: addresses, allow: ["198.51.100.0/24"] }
          """))
    try await fixture.carryOut(booking)
    #expect(try await fixture.record(booking).status == .accepted)
    let verdicts = try fixture.auditLine()["verdicts"]?.array?.prefix(3).map { $0["verdict"]?.string }
    #expect(verdicts == ["skipped", "skipped", "skipped"])
  }

  @Test(arguments: [Stop.Target.all, .caller("app"), .app("shop")])
  func `the kill switch stops appointments`(_ target: Stop.Target) async throws {
    let fixture = try CarrierFixture()
    let booking = try await fixture.book()
    try await fixture.delivery.stops.stop(Stop(target, .one(.callback), since: fixture.now.seconds))
    try await fixture.carryOut(booking)
    let record = try await fixture.record(booking)
    #expect(record.status == .failed && record.code == "stopped")
    #expect(try await fixture.isGivenBack())
    #expect(try fixture.auditLine()["reason"]?.string?.contains("an operator stopped") == true)
  }

  @Test func `an anonymous booking needs that anonymous requests are still served`() async throws {
    let caller = Caller(authenticated: Caller.anonymousID, by: .none)
    for (allows, status) in [(true, StoredCallback.Status.accepted), (false, .failed)] {
      let fixture = try CarrierFixture(
        .accepted, yaml: CarrierFixture.yaml(more: "allow_anonymous: \(allows)"))
      let booking = try await fixture.book(by: caller, app: nil)
      try await fixture.carryOut(booking)
      #expect(try await fixture.record(booking).status == status)
    }
  }

  // MARK: Installations

  private static func installation(_ fixture: CarrierFixture, generation: Int64, revoked: Bool = false)
    throws -> Installation
  {
    let client = InstallationClient(
      id: try #require(InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")), app: "Shop", detail: nil)
    return Installation(
      client: client, appID: "shop", user: nil, address: "192.0.2.1", secret: SHA256Digest(of: [1]),
      generation: generation, createdAt: fixture.now, usedAt: fixture.now,
      revokedAt: revoked ? fixture.now : nil)
  }

  private static let installed = CarrierFixture.yaml(
    apps: "shop: { installations: { authorize: [operator] } }")

  @Test(arguments: [(1, false, true), (1, true, false), (2, false, false), (0, false, false)])
  func `an installation that was revoked or replaced is not called`(
    generation: Int64, isRevoked: Bool, isCalled: Bool
  ) async throws {
    let fixture = try CarrierFixture(.accepted, yaml: Self.installed)
    let booked = Caller(authenticated: KnownInstallation(try Self.installation(fixture, generation: 1)))
    let booking = try await fixture.book(by: booked)
    // Generation 0 stands for an installation without a record.
    if generation > 0 {
      let kept = try Self.installation(fixture, generation: generation, revoked: isRevoked)
      try await fixture.memory.changeInstallation(InstallationScope(kept.client.id), at: fixture.now) { _ in
        (InstallationChange(installation: kept), ())
      }
    }
    try await fixture.carryOut(booking)
    #expect(try await fixture.record(booking).status == (isCalled ? .accepted : .failed))
    #expect(fixture.delivery.courier.requests.count == (isCalled ? 1 : 0))
    let line = try fixture.auditLine()
    #expect(line["caller"] == "installation" && line["decision"] == (isCalled ? "allow" : "deny"))
  }

  @Test func `an installation of an app without installations is denied`() async throws {
    let fixture = try CarrierFixture(yaml: Self.installed)
    let caller = Caller(authenticated: KnownInstallation(try Self.installation(fixture, generation: 1)))
    let booking = try await fixture.book(by: caller)
    try fixture.reload(CarrierFixture.yaml())
    try await fixture.carryOut(booking)
    #expect(try await fixture.record(booking).code == "denied")
  }

  // MARK: Others are faster

  @Test func `what was cancelled, moved or taken since it was read is left alone`() async throws {
    for change in 0..<4 {
      let fixture = try CarrierFixture(
        .accepted, yaml: change == 3 ? CarrierFixture.yaml(callers: "other") : CarrierFixture.yaml())
      let booking = try await fixture.book()
      let due = try await fixture.due(booking)
      fixture.delivery.time.advance(by: .seconds(600))
      switch change {
      case 0: _ = try await fixture.memory.end(booking.intent.id, .cancelled, at: fixture.now)
      case 1:
        #expect(try await fixture.memory.mark(booking.intent.id, for: booking.at, deadline: fixture.now))
      default:
        let moved = Booking(
          intent: booking.intent, at: fixture.now.advanced(by: .seconds(86_400)), slot: 1,
          content: booking.content, limits: booking.limits)
        guard case .moved = try await fixture.memory.move(moved, at: fixture.now) else {
          Issue.record("not moved")
          return
        }
      }
      let before = try await fixture.record(booking)
      #expect(await fixture.carrier().handle(due) == .done)
      if change > 1 {
        // The appointment is late according to the time that was read.
        fixture.delivery.time.advance(by: .seconds(200))
        #expect(await fixture.carrier().handle(due) == .done)
      }
      #expect(try await fixture.record(booking) == before)
      #expect(fixture.delivery.courier.requests.isEmpty)
      #expect(try await !fixture.isGivenBack())
      #expect(try fixture.lines().filter { $0["log"] == "audit" }.isEmpty)
    }
  }

  @Test func `requests that wait for the record learn of its end at once`() async throws {
    let fixture = try CarrierFixture(.accepted)
    let booking = try await fixture.book()
    let record = try await fixture.record(booking)
    let deadline = fixture.delivery.time.now + .seconds(9999)
    let waiting = Task {
      await fixture.watch.wait(for: record, of: .any(at: IPAddress(v4: 1)), until: deadline)
    }
    try await eventually { fixture.watch.count == 1 }
    try await fixture.carryOut(booking)
    #expect(await waiting.value.status == .accepted)
  }

  // MARK: A store that fails

  @Test func `while the store does not write, an appointment is tried less and less often`() async throws {
    let remote = #"{ name: fraud, kind: remote, url: "https://policy.example/allow", on: [callback] }"#
    for isJudged in [true, false] {
      let fixture = try CarrierFixture(yaml: CarrierFixture.yaml(rules: remote))
      let booking = try await fixture.book()
      if !isJudged { fixture.policy.set(.failure(TransportError(.overloaded, sent: false, detail: ""))) }
      fixture.delivery.store.set(.refused)
      for (late, wait) in [(0, 1), (1, 1), (2, 2), (17, 17), (100, 30)] {
        let due = try await fixture.due(booking)
        fixture.delivery.time.advance(by: booking.at - fixture.now + .seconds(late))
        #expect(await fixture.carrier().handle(due) == .leftAside(for: .seconds(wait)))
      }
      #expect(try await fixture.record(booking).status == .scheduled)
    }
  }

  @Test(arguments: [DoubtfulStore.Fate.committedInDoubt, .lostInDoubt])
  func `an end in doubt is found out, and concluded once`(_ fate: DoubtfulStore.Fate) async throws {
    let fixture = try CarrierFixture()
    let booking = try await fixture.book()
    let due = try await fixture.due(booking)
    fixture.delivery.store.set(ends: fate)
    fixture.delivery.store.set(isCertain: false)
    fixture.delivery.time.advance(by: .seconds(600 + 181))
    let ending = Task { await fixture.carrier().handle(due) }
    try await fixture.delivery.untilSleeping(for: .seconds(1))
    fixture.delivery.store.set(ends: .fine)
    fixture.delivery.store.set(isCertain: true)
    fixture.delivery.time.advance(by: .seconds(1))
    #expect(await ending.value == .done)
    if fate == .lostInDoubt {
      // Nothing was committed, so nothing is given back. The appointment is still due, and the next attempt
      // ends it.
      #expect(try await fixture.record(booking).status == .scheduled)
      #expect(try await !fixture.isGivenBack())
      #expect(await fixture.carrier().handle(try await fixture.due(booking)) == .done)
    }
    #expect(try await fixture.record(booking).status == .expired)
    #expect(try await fixture.isGivenBack())
    _ = await fixture.carrier().handle(due)
    #expect(try await !fixture.isGivenBack())
    #expect(try fixture.auditLine()["decision"] == "error")
  }

  @Test func `what was judged for the time before a move does not end the appointment`() async throws {
    let remote = #"{ name: fraud, kind: remote, url: "https://policy.example/allow", on: [callback] }"#
    let fixture = try CarrierFixture(yaml: CarrierFixture.yaml(rules: remote))
    let booking = try await fixture.book(in: 1)
    fixture.policy.set(.success("false"))
    let due = try await fixture.due(booking)
    fixture.delivery.time.advance(by: .seconds(1))
    // Its owner has moved the appointment by a second, which passed while the policy answered.
    let moved = Booking(
      intent: booking.intent, at: booking.at.advanced(by: .seconds(1)), slot: 0, content: [],
      limits: booking.limits)
    guard case .moved = try await fixture.memory.move(moved, at: fixture.now) else {
      Issue.record("not moved")
      return
    }
    fixture.delivery.time.advance(by: .seconds(1))
    _ = await fixture.carrier().handle(due)
    #expect(try await fixture.record(booking).status == .scheduled)
    // For the new time, the policy's answer counts.
    _ = await fixture.carrier().handle(try await fixture.due(booking))
    #expect(try await fixture.record(booking).status == .failed)
  }

  @Test func `an appointment that could not be judged fails where this process was taken for dead`()
    async throws
  {
    let remote = #"{ name: fraud, kind: remote, url: "https://policy.example/allow", on: [callback] }"#
    let fixture = try CarrierFixture(yaml: CarrierFixture.yaml(rules: remote))
    let booking = try await fixture.book()
    fixture.policy.set(.failure(TransportError(.overloaded, sent: false, detail: "")))
    fixture.delivery.store.onMark {
      let later = fixture.now.advanced(by: .seconds(9999))
      let recovered = try await fixture.memory.recoverCallbacks(at: later, besides: [])
      #expect(recovered.callbacks == 1)
    }
    try await fixture.carryOut(booking)
    let record = try await fixture.record(booking)
    #expect(record.status == .failed && record.code == "overloaded")
    fixture.policy.set(.success("true"))
    #expect(try await fixture.isGivenBack())
    #expect(try fixture.auditLine()["code"] == "overloaded")
  }

  @Test func `an appointment that a pause keeps from any try expires`() async throws {
    let fixture = try CarrierFixture()
    let booking = try await fixture.book()
    fixture.delivery.time.advance(by: .seconds(600))
    fixture.delivery.parts.queue.pause(for: .seconds(300))
    try await fixture.carryOut(booking)
    #expect(try await fixture.due(booking).due == booking.at.advanced(by: .seconds(180)))
    try await fixture.carryOut(booking, late: .seconds(181))
    #expect(try await fixture.record(booking).status == .expired)
    #expect(try await fixture.isGivenBack())
  }

  // MARK: Contents

  @Test func `an appointment whose content is broken has failed`() async throws {
    let fixture = try CarrierFixture()
    let booking = try await fixture.book(by: Caller(authenticated: "app", by: .jwt, subject: "user-1"))
    let due = try await fixture.due(booking)
    var content = due.content
    content[content.count - 1] ^= 1
    let broken = DueAppointment(
      record: due.record, at: due.at, due: due.due, tries: 0, lastCode: nil, content: content)
    fixture.delivery.time.advance(by: .seconds(600))
    #expect(await fixture.carrier().handle(broken) == .done)
    let record = try await fixture.record(booking)
    #expect(record.status == .failed && record.code == "internal")
    let lines = try fixture.lines()
    #expect(lines.count == 2)
    let log = try #require(lines.first { $0["level"] == "error" })
    #expect(log["id"]?.string == booking.intent.id.description)
    let line = try #require(lines.first { $0["log"] == "audit" })
    #expect(
      line["decision"] == "error" && line["code"] == "internal" && line["trigger"] == "appointment")
    #expect(line["callback"]?.string == booking.intent.id.description && line["address"] == nil)
    #expect(line["caller"] == "app" && line["subject"] == "user-1")
    #expect(line["app"] == "shop" && line["contact"] == "+*********65")
  }

  @Test func `an appointment that another key has sealed is left to other instances until it is late`()
    async throws
  {
    let fixture = try CarrierFixture()
    let booking = try await fixture.book()
    let due = try await fixture.due(booking)
    let carrier = fixture.carrier(
      keys: StoreKeys(current: StoreKey(Secret([UInt8](repeating: 9, count: 32)))))
    fixture.delivery.time.advance(by: .seconds(600))
    #expect(await carrier.handle(due) == .leftAside(for: .seconds(30)))
    #expect(try await fixture.record(booking).status == .scheduled)
    fixture.delivery.time.advance(by: .seconds(181))
    #expect(await carrier.handle(due) == .done)
    #expect(try await fixture.record(booking).status == .expired)
    let lines = try fixture.lines()
    #expect(lines.compactMap { $0["level"] } == ["error", "error"])
    #expect(lines.filter { $0["log"] == "audit" }.count == 1)
  }

  // MARK: No section

  @Test func `without the section appointments wait and expire`() async throws {
    let fixture = try CarrierFixture()
    let booking = try await fixture.book()
    fixture.removeSection()
    try await fixture.carryOut(booking, late: .seconds(180))
    #expect(try await fixture.record(booking).status == .scheduled)
    try await fixture.carryOut(booking, late: .seconds(181))
    #expect(try await fixture.record(booking).status == .expired)
    #expect(fixture.delivery.courier.requests.isEmpty)
  }
}
