// Tests of the dialogs before an appointment: what each choice does, whether it spends the ID, and what is
// refused.

import Foundation
import Gate
import HTTP
import JOSE
import JSON
import Notices
import Platform
import Store
import TestSupport
import Testing

@testable import Gateway
@testable import RoomSupport
@testable import SQLiteStore

@Suite(.timeLimit(.minutes(5))) struct DialogEndpointTests {
  private static let menu = "get-dialog-user-confirmation-provide_code-true"
  private static let in2Days = AppointmentFixture.hour(48)

  /// A time `seconds` after the appointment in two days.
  private static func later(_ seconds: Int64) throws -> String {
    try #require(Instant(rfc3339: in2Days)).advanced(by: .seconds(seconds)).rfc3339
  }

  @Test func `menus and waiting spend nothing, and unknown actions neither`() async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    for action in [Self.menu, "get-dialog-user-confirmation-provide_code-false", Self.menu] {
      let answer = try await fixture.post(action)
      #expect(answer.status == 200 && answer.fields["Cache-Control"] == "no-store")
      #expect(answer.json?["_action"] == "DisplayMenu" && answer.json?["_expires"] == .string(Self.in2Days))
      #expect(
        answer.json?["_resource_url"]
          == .string("https://calls.example/base/genesys/1/service/\(DialogFixture.id())/\(action)"))
      #expect(DialogFixture.items(answer) == ["1", "2", "3"])
    }
    let waits = try await fixture.post("wait-for-agent")
    #expect(waits.json?["_text"] == "We will notify you when agent is available")
    for action in ["get-dialog-start-chat", "dance", "Cancel"] {
      #expect(try await fixture.post(action).summary == "404 not_found", "\(action)")
    }
    #expect(try await fixture.post(Self.menu).status == 200)
    #expect(try await fixture.look(booked.id).json?["status"] == "scheduled")
    // Nothing changed, so nothing is audited.
    let lines = try await fixture.end()
    #expect(!lines.contains { ["connect", "snooze", "cancel"].contains($0["action"]?.string) })
  }

  @Test(arguments: ["connect", "connect-outbound"])
  func `a customer who is ready is called now, once`(action: String) async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    let answer = try await fixture.post(action)
    #expect(answer.json?["_action"] == "ConfirmationDialog")
    #expect(answer.json?["_text"] == "You will receive the call shortly")
    #expect(answer.json?["_id"] == .string(DialogFixture.id()))
    for other in [action, "snooze", "cancel", "connect-inbound", Self.menu] {
      #expect(try await fixture.post(other).summary == "404 not_found", "\(other)")
    }
    var record = try await fixture.look(booked.id, query: "?wait=20")
    while record.json?["status"] == "scheduled" || record.json?["status"] == "pending" {
      record = try await fixture.look(booked.id, query: "?wait=20")
    }
    #expect(record.json?["status"] == "accepted")
    #expect(try await fixture.appointments.calls.journal().rings[customerNumber] == 1)
    let lines = try await fixture.end().filter { $0["action"] == "connect" }
    #expect(lines.map { $0["decision"]?.string }.filter { $0 == "allow" }.count == 1)
    #expect(lines.first?["callback"]?.string == booked.id && lines.first?["contact"] == "+*********00")
  }

  @Test func `where a call now is closed the time stays, and the id is spent`() async throws {
    let today = AppointmentFixture.time(in: 0).prefix(10)
    let fixture = try await DialogFixture(
      rules: """
        [{ name: hours, kind: hours, timezone: UTC, weekly: { mon-sun: "00:00-24:00" }, closed: ["\(today)"] }]
        """)
    let booked = try await fixture.book(Self.in2Days)
    #expect(try await fixture.post("connect").status == 200)
    let record = try await fixture.look(booked.id)
    #expect(record.json?["status"] == "scheduled" && record.json?["at"] == .string(Self.in2Days))
    #expect(try await fixture.post("connect").summary == "404 not_found")
    // The question was answered, so no other notification asks it.
    #expect(try await fixture.take(DialogFixture.id("B")) == nil)
    let line = try await fixture.end().first { $0["action"] == "connect" }
    #expect(line?["reason"] == "not before its time: closed" && line?["decision"] == "allow")
  }

  @Test func `with a clock that is wrong no answer changes a time, and the id is not spent`() async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    let health = fixture.appointments.calls.service.storeHealth
    health.compared(clockAhead: .seconds(3600))
    for action in ["connect", "snooze"] {
      #expect(try await fixture.post(action).status == 503, "\(action)")
    }
    let record = try await fixture.look(booked.id)
    #expect(record.json?["status"] == "scheduled" && record.json?["at"] == .string(Self.in2Days))
    health.compared(clockAhead: .zero)
    #expect(try await fixture.post("snooze").status == 204)
    _ = try await fixture.end()
  }

  @Test func `a snooze is a later time with another id, as often as configured`() async throws {
    let fixture = try await DialogFixture(confirm: "{ snooze: 7m, snoozes: 2 }")
    let booked = try await fixture.book(Self.in2Days)
    for (number, id) in ["A", "B"].enumerated() {
      let answer = try await fixture.post("snooze", DialogFixture.id(Character(id)))
      #expect(answer.status == 204 && answer.content.isEmpty)
      let at = try await fixture.look(booked.id).json?["at"]
      #expect(at == .string(try Self.later(420 * Int64(number + 1))))
      #expect(try await fixture.post("snooze", DialogFixture.id(Character(id))).summary == "404 not_found")
      let next: Character = number == 0 ? "B" : "C"
      #expect(try await fixture.take(DialogFixture.id(next)) == .confirmWithCode)
    }
    #expect(DialogFixture.items(try await fixture.post(Self.menu, DialogFixture.id("C"))) == ["1", "3"])
    let late = try await fixture.post("snooze", DialogFixture.id("C"))
    #expect(late.summary == "409 too_late" && late.id == booked.id)
    // That refusal does not spend the ID.
    #expect(try await fixture.post("cancel", DialogFixture.id("C")).status == 204)
    let lines = try await fixture.end().filter { $0["action"] == "snooze" }
    #expect(
      lines.map { $0["code"]?.string } == [nil, "not_found", nil, "not_found", "too_late"])
  }

  @Test func `of many answers to one notice one counts`() async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    let answers = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<12 { group.addTask { try await fixture.post("snooze").status } }
      return try await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(answers.sorted() == [204] + [Int](repeating: 404, count: 11))
    #expect(try await fixture.look(booked.id).json?["at"] == .string(try Self.later(300)))
    _ = try await fixture.end()
  }

  @Test func `a snooze to a closed time is too late, and the menu lacks it`() async throws {
    // The appointment is three minutes before midnight.
    let midnight = try #require(Instant(rfc3339: "\(AppointmentFixture.hour(72).prefix(10))T00:00:00Z"))
    let at = midnight.advanced(by: .seconds(-180)).rfc3339
    let fixture = try await DialogFixture(
      rules: """
        [{ name: hours, kind: hours, timezone: UTC, weekly: { mon-sun: "00:00-24:00" }, closed: ["\(midnight.rfc3339.prefix(10))"] }]
        """)
    let booked = try await fixture.book(at)
    #expect(DialogFixture.items(try await fixture.post(Self.menu)) == ["1", "3"])
    #expect(try await fixture.post("snooze").summary == "409 too_late")
    #expect(try await fixture.look(booked.id).json?["at"] == .string(at))
    _ = try await fixture.end()
  }

  @Test func `cancelling and calling instead end the appointment, and the app knows it`() async throws {
    let fixture = try await DialogFixture()
    let first = try await fixture.book(Self.in2Days)
    let cancelled = try await fixture.post("cancel")
    #expect(cancelled.status == 204 && cancelled.content.isEmpty)
    #expect(try await fixture.post("cancel").summary == "404 not_found")
    let second = try await fixture.book(AppointmentFixture.hour(50), id: DialogFixture.id("B"))
    let answer = try await fixture.post("connect-inbound", DialogFixture.id("B"))
    #expect(
      answer.json?["_action"] == "DialNumber" && answer.json?["_tel_url"] == .string("tel:" + accountNumber))
    let code = try #require(second.json?["verification_code"]?.string)
    #expect(answer.json?["_access_code"] == .string(code))
    #expect(try await fixture.post("connect-inbound", DialogFixture.id("B")).summary == "404 not_found")
    for id in [first.id, second.id] {
      #expect(try await fixture.look(id).json?["status"] == "cancelled")
    }
    let lines = try await fixture.end().filter { $0["action"] == "cancel" }
    #expect(lines.map { $0["code"]?.string } == [nil, "not_found", nil, "not_found"])
  }

  @Test func `without codes none is shown`() async throws {
    let fixture = try await DialogFixture(code: false)
    _ = try await fixture.book(Self.in2Days)
    #expect(try await fixture.post("connect-inbound").json?["_access_code"] == "n/a")
    _ = try await fixture.end()
  }

  @Test func `a move and a cancellation by the owner spend the id`() async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    #expect(try await fixture.move(booked.id, to: AppointmentFixture.hour(60)).status == 200)
    #expect(try await fixture.post(Self.menu).summary == "404 not_found")
    try await fixture.take(DialogFixture.id("B"))
    #expect(try await fixture.post(Self.menu, DialogFixture.id("B")).status == 200)
    #expect(try await fixture.cancel(booked.id).status == 200)
    #expect(try await fixture.post(Self.menu, DialogFixture.id("B")).summary == "404 not_found")
    _ = try await fixture.end()
  }

  @Test func `a stop refuses a snooze, and keeps a connection for its time`() async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    let stop = try await fixture.appointments.calls.send(
      .post, "/admin/stop", #"{"scope":"all","action":"callback","reason":"drill"}"#,
      fields: CallingFixture.operators)
    #expect(stop.status < 300)
    #expect(try await fixture.post("snooze").summary == "403 stopped")
    #expect(DialogFixture.items(try await fixture.post(Self.menu)) == ["1", "3"])
    #expect(try await fixture.post("connect").status == 200)
    #expect(try await fixture.look(booked.id).json?["at"] == .string(Self.in2Days))
    _ = try await fixture.end()
  }

  @Test func `unknown and malformed ids are counted for their address, live and spent ones are not`()
    async throws
  {
    let fixture = try await DialogFixture()
    _ = try await fixture.book(Self.in2Days)
    for text in ["x", String(repeating: "a", count: 32), String(repeating: "A", count: 33), "%00", "%ff"] {
      #expect(try await fixture.post(Self.menu, text).summary == "404 not_found", "\(text)")
    }
    for _ in 0..<55 {
      #expect(try await fixture.post("connect", DialogFixture.id("Z")).summary == "404 not_found")
    }
    // One more is allowed for each second that these requests took.
    var late = try await fixture.post("connect", DialogFixture.id("Z"))
    for _ in 0..<200 where late.status == 404 {
      late = try await fixture.post("connect", DialogFixture.id("Z"))
    }
    #expect(late.summary == "429 rate_limited" && late.fields["Retry-After"] != nil)
    #expect(try await fixture.post("cancel").status == 204)
    for _ in 0..<70 { #expect(try await fixture.post("cancel").summary == "404 not_found") }
    _ = try await fixture.end()
  }

  @Test func `a call that begins while its dialog is answered spends the id`() async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    // As seen by an instance that read the notification just before another instance took the appointment.
    let other = try SQLiteConnection(path: fixture.appointments.file)
    try other.execute("UPDATE callgate_callback SET due = NULL")
    for action in [Self.menu, "connect", "connect-outbound", "snooze", "connect-inbound"] {
      #expect(try await fixture.post(action).summary == "404 not_found", "\(action)")
    }
    #expect(try await fixture.move(booked.id, to: Self.in2Days).summary == "409 too_late")
    _ = try await fixture.end()
  }

  @Test func `HEAD tells the app nothing, and other responses tell it the end`() async throws {
    let fixture = try await DialogFixture()
    var ids: [String?] = []
    for letter in ["A", "B", "C", "D"] as [Character] {
      ids.append(try await fixture.book(Self.in2Days, id: DialogFixture.id(letter)).id)
      if letter != "D" { try await fixture.endUntold(ids.last ?? nil) }
    }
    #expect(try await fixture.head(ids[0]) == 200)
    #expect(try await fixture.look(ids[1]).status == 200)
    #expect(try await fixture.look(ids[2], query: "?wait=25").status == 200)
    #expect(try await fixture.cancel(ids[3]).status == 200)
    for id in ids[1...] {
      try await eventually { try await fixture.isTold(id) }
    }
    #expect(try await !fixture.isTold(ids[0]))
    #expect(try await fixture.take(DialogFixture.id("E")) == .changed)
    _ = try await fixture.end()
  }

  @Test func `notices of other kinds have no dialog`() async throws {
    let fixture = try await DialogFixture()
    let booked = try await fixture.book(Self.in2Days)
    try await fixture.endUntold(booked.id)
    #expect(try await fixture.take(DialogFixture.id("B")) == .changed)
    try await fixture.openClaim(DialogFixture.id("C"))
    for id in ["B", "C"] as [Character] {
      for action in ["access", "changed", "expired"] {
        let answer = try await fixture.post(action, DialogFixture.id(id))
        #expect(answer.status == 204 && answer.content.isEmpty, "\(id) \(action)")
      }
      for action in [Self.menu, "connect", "cancel", "connect-inbound", "dance"] {
        #expect(
          try await fixture.post(action, DialogFixture.id(id)).summary == "404 not_found", "\(id) \(action)")
      }
    }
    #expect(
      try await fixture.appointments.calls.look("/genesys/1/service/\(DialogFixture.id())/connect").status
        == 405)
    _ = try await fixture.end()
  }
}
