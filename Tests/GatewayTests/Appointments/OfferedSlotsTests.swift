// Tests of the slots in `GET /availability`.

import Gate
import HTTP
import JSON
import Platform
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(5))) struct OfferedSlotsTests {
  private static func query(_ from: String, _ to: String) -> String { "/availability?from=\(from)&to=\(to)" }

  private static func places(_ answer: CallingFixture.Answer) -> [String] {
    (answer.json?["slots"]?.array ?? []).map { slot in
      "\(slot["start"]?.string ?? "") \(slot["free"]?.int ?? -1)/\(slot["total"]?.int ?? -1)"
    }
  }

  @Test func `slots are listed with their places, full ones too`() async throws {
    let fixture = try await AppointmentFixture()
    let hours = (0...5).map { AppointmentFixture.hour($0) }
    let plain = try await fixture.calls.look("/availability")
    #expect(plain.json?["slots"] == nil && plain.fields["Cache-Control"]?.hasPrefix("private") == true)
    let booked = try await fixture.book(hours[2])
    _ = try await fixture.book(hours[2], fields: AppointmentFixture.stranger)
    _ = try await fixture.book(hours[3].replacing("00:00Z", with: "59:59Z"), "+14155550111")
    // The end of the span is exclusive.
    let answer = try await fixture.calls.look(Self.query(hours[1], hours[4]))
    #expect(answer.status == 200 && answer.fields["Cache-Control"] == "no-store")
    #expect(Self.places(answer) == ["\(hours[1]) 2/2", "\(hours[2]) 0/2", "\(hours[3]) 1/2"])
    let ends = answer.json?["slots"]?.array?.map { $0["end"]?.string }
    #expect(ends == [hours[2], hours[3], hours[4]])
    #expect(answer.json?["open"] == true && answer.json?["remaining"] != nil)
    _ = try await fixture.cancel(booked.id)
    #expect(Self.places(try await fixture.calls.look(Self.query(hours[2], hours[3]))) == ["\(hours[2]) 1/2"])
    // No slots before the first time that can be booked, and none after the last.
    let past = AppointmentFixture.time(in: -86_400)
    #expect(Self.places(try await fixture.calls.look(Self.query(past, hours[1]))).count <= 1)
    let (late, later) = (AppointmentFixture.time(in: 31 * 86_400), AppointmentFixture.time(in: 40 * 86_400))
    #expect(try await fixture.calls.look(Self.query(late, later)).json?["slots"] == [])
    _ = try await fixture.end()
  }

  @Test func `what is closed is not offered, and nothing is while callbacks are stopped`() async throws {
    let (day, next) = (
      AppointmentFixture.time(in: 2 * 86_400).prefix(10), AppointmentFixture.time(in: 3 * 86_400).prefix(10)
    )
    let fixture = try await AppointmentFixture(
      rules: """
        [{ name: hours, kind: hours, timezone: Europe/Lisbon, weekly: { mon-sun: "09:30-12:00" }, callers: [default] }]
        """)
    let span = Self.query("\(day)T00:00:00Z", "\(next)T00:00:00Z")
    // A slot is booked by its start, which must be within opening hours.
    let offered = try await fixture.calls.look(span).json?["slots"]?.array
    #expect(offered?.count == 2)
    let everybody = try await fixture.calls.look(span, AppointmentFixture.stranger)
    #expect(everybody.json?["slots"]?.array?.count == 24)
    let stop = try await fixture.calls.send(
      .post, "/admin/stop", #"{"scope":"all","action":"callback"}"#, fields: CallingFixture.operators)
    #expect(stop.status == 200)
    #expect(try await fixture.calls.look(span).json?["slots"] == [])
    _ = try await fixture.end()
  }

  @Test func `a span has both ends, in order, and bounds`() async throws {
    let fixture = try await AppointmentFixture("{ slot: 1m, per_slot: 1, earliest: 0s }")
    let (from, to) = (AppointmentFixture.hour(1), AppointmentFixture.hour(2))
    for (query, names) in [
      ("?from=\(from)", ["from", "to"]), ("?to=\(to)", ["from", "to"]), ("?from=&to=\(to)", ["from"]),
      ("?from=x&to=2026-01-01", ["from", "to"]), ("?from=\(from)&to=\(to)&to=\(to)", ["to"]),
      ("?from=\(to)&to=\(from)", ["from", "to"]), ("?from=\(from)&to=\(from)", ["from", "to"]),
      // 31 days and a second; and 3,001 slots.
      ("?from=2100-01-01T00:00:00Z&to=2100-02-01T00:00:01Z", ["from", "to"]),
      (
        "?from=\(from)&to=\(AppointmentFixture.hour(1 + 50).replacing("00:00Z", with: "01:00Z"))",
        ["from", "to"]
      ),
    ] {
      let answer = try await fixture.calls.look("/availability\(query)")
      #expect(answer.summary == "422 invalid_request" && answer.names == names, "\(query)")
    }
    let half = try await fixture.calls.look("/availability?from=x")
    let descriptions = half.json?["fields"]?.array?.map { $0["description"]?.string ?? "" }
    #expect(half.names == ["from", "to"])
    #expect(descriptions?.first?.contains("an offset") == true)
    #expect(descriptions?.last?.contains("Give both") == true)
    let most = try await fixture.calls.look(Self.query(from, AppointmentFixture.hour(1 + 50)))
    #expect(most.json?["slots"]?.array?.count == 3000)
    let long = try await fixture.calls.look(Self.query("2100-01-01T00:00:00Z", "2100-02-01T00:00:00Z"))
    #expect(long.status == 200 && long.json?["slots"] == [])
    _ = try await fixture.end()
  }
}
