// Tests of `PATCH` and `DELETE` of appointments, of their list, and of waiting for a change.

import HTTP
import JSON
import Platform
import TestSupport
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(5))) struct MovingAppointmentsTests {
  // MARK: Moving

  @Test func `an appointment gets another time, and its own place does not count`() async throws {
    let fixture = try await AppointmentFixture(
      "{ slot: 1h, per_slot: 1, earliest: 1m }",
      rules: "[{ name: once, kind: quota, key: caller, limit: 1, per: month }]")
    let booked = try await fixture.book(AppointmentFixture.hour(1))
    let within = AppointmentFixture.hour(1).replacing("00:00Z", with: "30:00Z")
    // The slot is full, the number has its one appointment and the quota is used up, all because of this
    // appointment.
    let moved = try await fixture.move(booked.id, to: within)
    #expect(moved.status == 200 && moved.fields["Cache-Control"] == "no-store")
    #expect(moved.json?["at"] == .string(within) && moved.json?["status"] == "scheduled")
    #expect(moved.json?["created_at"] == booked.json?["created_at"] && moved.id == booked.id)
    #expect(try await fixture.look(booked.id).json == moved.json)
    let again = try await fixture.move(booked.id, to: AppointmentFixture.hour(4))
    #expect(again.json?["at"] == .string(AppointmentFixture.hour(4)))
    // The slot that it left is free.
    let other = try await fixture.book(AppointmentFixture.hour(1), fields: AppointmentFixture.stranger)
    #expect(other.summary == "201")
    let full = try await fixture.move(booked.id, to: AppointmentFixture.hour(1))
    #expect(full.summary == "409 slot_full")
    #expect(full.json?["alternatives"]?.array?.first == .string(AppointmentFixture.hour(2)))
    #expect(try await fixture.look(booked.id).json == again.json)
    let audits = try await fixture.end()
    let changes = audits.filter { $0["action"] == "change" }
    #expect(changes.map { $0["code"]?.string } == [nil, nil, "slot_full"])
    #expect(changes.allSatisfy { $0["callback"]?.string == booked.id && $0["contact"] == "+*********00" })
    // Neither limits nor brakes are evaluated for a move.
    let verdicts = changes.flatMap { $0["verdicts"]?.array ?? [] }
    let once = verdicts.filter { $0["rule"] == "once" }
    let brakes = verdicts.filter { $0["rule"]?.string?.hasPrefix("brake-") == true }
    #expect(once.count == changes.count && brakes.count == 3 * changes.count)
    #expect((once + brakes).allSatisfy { $0["verdict"] == "skipped" })
  }

  @Test func `what a change may say is checked before the callback is looked for`() async throws {
    let fixture = try await AppointmentFixture()
    let booked = try await fixture.book(AppointmentFixture.hour(1))
    let id = booked.id ?? ""
    let at = AppointmentFixture.hour(2)
    // The head of a request is enough to refuse an ID of another form.
    for path in ["/callbacks/\(id)", "/callbacks/0198a8f2-5f6e-7c1b-9a3d-2e4f5a6b7c8d"] {
      let body = #"{"at":"\#(at)"}"#
      for type in ["text/plain", "application/merge-patch+json; charset=latin1", nil] {
        let answer = try await fixture.calls.send(.patch, path, body, type: type)
        #expect(answer.summary == "415 unsupported_media_type", "\(type ?? "none")")
      }
      #expect(try await fixture.calls.send(.patch, path, "{").summary == "400 invalid_json")
      for (body, names) in [
        ("[]", []), ("{}", ["at"]), (#"{"at":null}"#, ["at"]), (#"{"at":"soon"}"#, ["at"]),
        (#"{"at":7}"#, ["at"]),
        (#"{"status":"cancelled"}"#, ["status", "at"]), (#"{"at":"\#(at)","context":{}}"#, ["context"]),
      ] {
        let answer = try await fixture.calls.send(.patch, path, body)
        #expect(answer.summary == "422 invalid_request" && answer.names == names, "\(body)")
      }
    }
    let patched = try await fixture.calls.send(
      .patch, "/callbacks/\(id)", #"{"at":"\#(at)"}"#, type: "application/merge-patch+json")
    #expect(patched.status == 200 && patched.json?["at"] == .string(at))
    let audits = try await fixture.end()
    #expect(audits.filter { $0["action"] == "change" }.count == 2 * 11 + 1)
  }

  @Test func `unknown, foreign and malformed ids are one 404`() async throws {
    let fixture = try await AppointmentFixture()
    let booked = try await fixture.book(AppointmentFixture.hour(1))
    let ann = try await fixture.book(AppointmentFixture.hour(1), fields: try AppointmentFixture.user("ann"))
    let at = AppointmentFixture.hour(2)
    var answers: [CallingFixture.Answer] = []
    for id in ["none", "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87", "%00", ann.id] {
      answers.append(try await fixture.move(id, to: at))
      answers.append(try await fixture.cancel(id))
      answers.append(try await fixture.look(id, query: "?wait=1"))
    }
    answers.append(try await fixture.cancel(booked.id, fields: AppointmentFixture.stranger))
    // Users of one issuer do not see each other's callbacks.
    answers.append(try await fixture.cancel(ann.id, fields: try AppointmentFixture.user("bob")))
    answers.append(try await fixture.move(ann.id, to: at, fields: try AppointmentFixture.user("bob")))
    let details = Set(answers.map { $0.json?["detail"]?.string })
    #expect(answers.allSatisfy { $0.summary == "404 not_found" } && details.count == 1)
    #expect(try await fixture.cancel(ann.id, fields: [:]).summary == "401 unauthenticated")
    #expect(try await fixture.look(booked.id).json?["status"] == "scheduled")
    let audits = try await fixture.end()
    #expect(
      audits.filter { $0["action"] == "cancel" }.map { $0["code"]?.string }.suffix(1) == ["unauthenticated"])
    #expect(audits.filter { $0["action"] == "change" && $0["code"] == "not_found" }.count == 5)
  }

  @Test func `a move is refused as a booking would be`() async throws {
    let closed = AppointmentFixture.time(in: 3 * 86_400).prefix(10)
    let fixture = try await AppointmentFixture(
      "{ slot: 1h, per_slot: 9, earliest: 1m, per_number: 2 }",
      rules: """
        [{ name: hours, kind: hours, timezone: UTC, weekly: { mon-sun: "00:00-24:00" }, closed: ["\(closed)"] }]
        """)
    let first = try await fixture.book(AppointmentFixture.hour(1))
    let second = try await fixture.book(AppointmentFixture.hour(2))
    let duplicate = try await fixture.move(first.id, to: AppointmentFixture.hour(2))
    #expect(duplicate.summary == "409 duplicate" && duplicate.id == second.id)
    let answer = try await fixture.move(first.id, to: "\(closed)T10:00:00Z")
    #expect(answer.summary == "403 closed" && answer.json?["rule"] == "hours")
    #expect(answer.json?["next_open"]?.string?.hasSuffix("T00:00:00Z") == true)
    #expect(answer.fields["Retry-After"] == nil)
    for seconds in [-30, 0, 30, 31 * 86_400] as [Int64] {
      let answer = try await fixture.move(first.id, to: AppointmentFixture.time(in: seconds))
      #expect(answer.summary == "422 invalid_request" && answer.names == ["at"], "\(seconds)")
    }
    let stop = try await fixture.calls.send(
      .post, "/admin/stop", #"{"scope":"all","action":"callback","reason":"no agents"}"#,
      fields: CallingFixture.operators)
    #expect(stop.status == 200)
    for id in [first.id, "none"] {
      #expect(try await fixture.move(id, to: AppointmentFixture.hour(5)).summary == "403 stopped")
    }
    // A stop does not prevent cancelling a call.
    #expect(try await fixture.cancel(first.id).summary == "200")
    let audits = try await fixture.end()
    #expect(
      audits.contains { $0["code"] == "stopped" && $0["reason"]?.string?.contains("no agents") == true })
    let refused = try #require(audits.first { $0["code"] == "closed" })
    #expect(
      refused["rule"] == "hours" && refused["decision"] == "deny" && refused["callback"]?.string == first.id)
  }

  // MARK: Cancelling

  @Test func `a cancelled appointment gives everything back, once`() async throws {
    let fixture = try await AppointmentFixture(
      "{ slot: 1h, per_slot: 1, earliest: 1m }",
      rules: "[{ name: twice, kind: quota, key: caller, limit: 2, per: month }]")
    let at = AppointmentFixture.hour(1)
    let booked = try await fixture.book(at)
    #expect(try await fixture.book(AppointmentFixture.hour(2), "+14155550111").summary == "201")
    let cancelled = try await fixture.cancel(booked.id)
    #expect(cancelled.status == 200 && cancelled.fields["Cache-Control"] == "no-store")
    #expect(cancelled.json?["status"] == "cancelled" && cancelled.json?["settled_at"] != nil)
    #expect(cancelled.json?["at"] == .string(at) && cancelled.json?["reason"] == nil)
    for _ in 0..<3 {
      let again = try await fixture.cancel(booked.id)
      #expect(again.status == 200 && again.json == cancelled.json)
    }
    #expect(try await fixture.look(booked.id, query: "?wait=25").json == cancelled.json)
    #expect(try await fixture.move(booked.id, to: at).summary == "409 too_late")
    // The slot, the number, the dedupe entry and one of the two requests are free again.
    let next = try await fixture.book(at)
    #expect(next.summary == "201")
    #expect(
      try await fixture.book(AppointmentFixture.hour(3), "+14155550112").summary == "429 quota_exhausted")
    let metrics = try await fixture.calls.look("/metrics", CallingFixture.operators)
    #expect(
      String(decoding: metrics.content, as: UTF8.self)
        .contains(#"callgate_callbacks_total{status="cancelled"} 1"# + "\n"))
    let audits = try await fixture.end()
    let cancels = audits.filter { $0["action"] == "cancel" }
    #expect(cancels.count == 4 && cancels.allSatisfy { $0["decision"] == "allow" })
    #expect(cancels.allSatisfy { $0["callback"]?.string == booked.id && $0["contact"] == "+*********00" })
  }

  @Test func `a callback without a time is always too late`() async throws {
    let fixture = try await AppointmentFixture()
    let made = try await fixture.calls.call()
    let cancelled = try await fixture.cancel(made.id)
    #expect(cancelled.summary == "409 too_late" && cancelled.id == made.id)
    #expect(try await fixture.move(made.id, to: AppointmentFixture.hour(1)).summary == "409 too_late")
    let audits = try await fixture.end()
    #expect(audits.map { $0["code"]?.string } == [nil, "too_late", "too_late"])
  }

  @Test func `of many cancellations at once one gives back`() async throws {
    let fixture = try await AppointmentFixture(
      rules: "[{ name: once, kind: quota, key: caller, limit: 1, per: month }]")
    let booked = try await fixture.book(AppointmentFixture.hour(1))
    let answers = try await (0..<8).concurrently { _ in try await fixture.cancel(booked.id).summary }
    #expect(answers == Array(repeating: "200", count: 8))
    #expect(try await fixture.book(AppointmentFixture.hour(1)).summary == "201")
    #expect(
      try await fixture.book(AppointmentFixture.hour(2), "+14155550111").summary == "429 quota_exhausted")
    _ = try await fixture.end()
  }

  // MARK: Reading

  @Test func `a list has the owner's own, the soonest first`() async throws {
    let fixture = try await AppointmentFixture("{ slot: 1h, per_slot: 9, earliest: 1m, per_number: 5 }")
    let (ann, bob) = (try AppointmentFixture.user("ann"), try AppointmentFixture.user("bob"))
    var ids: [String?] = []
    for hour in [3, 1, 2, 4] as [Int64] {
      ids.append(try await fixture.book(AppointmentFixture.hour(hour), fields: ann).id)
    }
    _ = try await fixture.book(AppointmentFixture.hour(1), fields: bob)
    _ = try await fixture.cancel(ids[3], fields: ann)
    let list = try await fixture.calls.look("/callbacks?status=scheduled", ann)
    #expect(list.status == 200 && list.fields["Cache-Control"] == "no-store")
    let records = try #require(list.json?["callbacks"]?.array)
    #expect(records.map { $0["id"]?.string } == [ids[1], ids[2], ids[0]])
    #expect(records[0] == (try await fixture.look(ids[1], fields: ann).json))
    for query in ["", "?status=", "?status=pending", "?status=scheduled&status=scheduled"] {
      let answer = try await fixture.calls.look("/callbacks\(query)", ann)
      #expect(answer.summary == "422 invalid_request" && answer.names == ["status"], "\(query)")
    }
    // These callers have to keep the IDs that they were given.
    for fields in [CallingFixture.credentials, AppointmentFixture.stranger] {
      #expect(try await fixture.calls.look("/callbacks?status=scheduled", fields).summary == "403 denied")
    }
    #expect(try await fixture.calls.look("/callbacks?status=scheduled", [:]).status == 401)
    let audits = try await fixture.end()
    #expect(audits.count == 6)
  }

  @Test func `methods are those of each path, for browsers too`() async throws {
    let fixture = try await AppointmentFixture(more: #"cors: { origins: ["https://shop.example"] }"#)
    let own: Fields = ["Origin": "https://shop.example", "Access-Control-Request-Method": "PATCH"]
    for (path, allowed) in [
      ("/calls/callback", "POST, OPTIONS"), ("/callbacks", "GET, HEAD, POST, OPTIONS"),
      ("/callbacks/x", "GET, HEAD, DELETE, PATCH, OPTIONS"),
    ] {
      let preflight = try await fixture.calls.send(.options, path, fields: own)
      #expect(preflight.status == 204 && preflight.fields["Allow"] == allowed)
      #expect(preflight.fields["Access-Control-Allow-Methods"] == allowed)
      let other = try await fixture.calls.send(.put, path)
      #expect(other.summary == "405 method_not_allowed" && other.fields["Allow"] == allowed)
    }
    #expect(try await fixture.calls.send(.get, "/calls/callback").status == 405)
    let answer = try await fixture.calls.send(
      .delete, "/callbacks/x", fields: CallingFixture.credentials.adding("Origin", "https://shop.example"))
    #expect(answer.status == 404)
    #expect(answer.fields["Access-Control-Allow-Origin"] == "https://shop.example")
    let audits = try await fixture.end()
    #expect(audits.map { $0["action"]?.string } == ["cancel"])
  }

  // MARK: Waiting

  @Test func `a wait is a whole number of seconds`() async throws {
    let fixture = try await AppointmentFixture()
    let booked = try await fixture.book(AppointmentFixture.hour(1))
    for wait in ["", "-1", "1.5", "soon", "+1", "%201", "1&wait=1"] {
      let answer = try await fixture.look(booked.id, query: "?wait=\(wait)")
      #expect(answer.summary == "422 invalid_request" && answer.names == ["wait"], "\(wait)")
    }
    #expect(try await fixture.look(booked.id, query: "?wait=0").json == booked.json)
    // A wait above 25 counts as 25, even if it fits no integer, and a final record is returned at once.
    _ = try await fixture.cancel(booked.id)
    for wait in ["26", "99999999999999999999999999"] {
      let answer = try await fixture.look(booked.id, query: "?wait=\(wait)")
      #expect(answer.json?["status"] == "cancelled")
    }
    _ = try await fixture.end()
  }

  @Test func `a request that waits is answered by a move, a cancellation and a drain`() async throws {
    let fixture = try await AppointmentFixture()
    let booked = try await fixture.book(AppointmentFixture.hour(1))
    async let first = fixture.look(booked.id, query: "?wait=25")
    try await fixture.calls.service.waiting(1)
    let moved = try await fixture.move(booked.id, to: AppointmentFixture.hour(2))
    #expect(try await first.json == moved.json)
    async let second = fixture.look(booked.id, query: "?wait=25")
    try await fixture.calls.service.waiting(1)
    let cancelled = try await fixture.cancel(booked.id)
    #expect(try await second.json == cancelled.json)

    let other = try await fixture.book(AppointmentFixture.hour(1))
    async let third = fixture.look(other.id, query: "?wait=25")
    try await fixture.calls.service.waiting(1)
    let start = SystemClock().now
    await fixture.calls.service.drain()
    #expect(try await third.json == other.json)
    #expect(SystemClock().now - start < .seconds(10))
    try await fixture.end()
  }
}

extension RunningService {
  /// Returns once `count` requests wait for a change.
  func waiting(_ count: Int) async throws {
    try await eventually { waitingForChanges >= count }
  }
}
