// Tests of `POST /calls/callback` with a time: bookings, their refusals and repetitions.

import Gate
import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Gateway
@testable import RoomSupport

@Suite(.timeLimit(.minutes(5))) struct BookingTests {
  @Test func `a call is booked, found again by its id, and not made now`() async throws {
    let fixture = try await AppointmentFixture(
      rules: "[{ name: twice, kind: quota, key: caller, limit: 2, per: month }]")
    let at = AppointmentFixture.time(in: 7200)
    // An offset is accepted, and a fraction of a second is dropped.
    let answer = try await fixture.book(at.replacing("Z", with: ".9+00:00"))
    #expect(answer.summary == "201")
    let document = try #require(answer.json?.object)
    #expect(document.members.map(\.name) == ["id", "status", "at", "created_at", "contact_phone_number"])
    #expect(document["status"] == "scheduled" && document["at"] == .string(at))
    #expect(document["contact_phone_number"] == "+*********00")
    #expect(answer.fields["Location"] == "/callbacks/\(answer.id ?? "")")
    #expect(answer.fields["Cache-Control"] == "no-store")
    #expect(answer.fields["RateLimit"]?.hasPrefix(#""twice";r=1"#) == true)
    let record = try await fixture.look(answer.id)
    #expect(record.status == 200 && record.json == answer.json)
    #expect(try await fixture.look(answer.id, fields: AppointmentFixture.stranger).status == 404)
    let listed = try await fixture.calls.look("/admin/callbacks?status=scheduled", CallingFixture.operators)
    let entry = try #require(listed.json?["callbacks"]?.array?.first)
    #expect(entry["id"] == document["id"] && entry["at"] == .string(at) && entry["caller"] == "default")
    #expect(try await fixture.calls.journal().arrivals == 0)

    let audits = try await fixture.end()
    #expect(audits.count == 1)
    #expect(audits[0]["action"] == "callback" && audits[0]["decision"] == "allow")
    #expect(audits[0]["callback"] == document["id"] && audits[0]["contact"] == "+*********00")
    #expect(audits[0]["upstream_status"] == nil && audits[0]["verdicts"]?.array?.count == 5)
  }

  @Test func `a repetition gets the first answer, whatever became of the appointment`() async throws {
    let fixture = try await AppointmentFixture()
    let at = AppointmentFixture.hour(2)
    let first = try await fixture.book(at, key: "k")
    #expect(first.summary == "201")
    #expect(try await fixture.book(at, key: "k").content == first.content)
    #expect(try await fixture.book(at, key: "k", query: "?validate").json == ["valid": true])
    let other = AppointmentFixture.hour(3)
    #expect(try await fixture.book(other, key: "k").summary == "422 idempotency_mismatch")
    #expect(try await fixture.calls.call(key: "k").summary == "422 idempotency_mismatch")
    #expect(try await fixture.move(first.id, to: other).summary == "200")
    #expect(try await fixture.book(at, key: "k").content == first.content)
    #expect(try await fixture.cancel(first.id).summary == "200")
    #expect(try await fixture.book(at, key: "k").content == first.content)
    let audits = try await fixture.end()
    #expect(audits.filter { $0["replay"] == true }.count == 4)
    #expect(audits.allSatisfy { $0["callback"] == nil || $0["callback"]?.string == first.id })
  }

  @Test func `a time that cannot be booked is named, after the key and beside other mistakes`() async throws {
    let fixture = try await AppointmentFixture()
    for (at, words) in [
      ("soon", "offset"), ("2099-01-01T10:00:00", "offset"), ("2099-02-30T10:00:00Z", "offset"),
      (AppointmentFixture.time(in: 30), "earliest"), (AppointmentFixture.time(in: -90), "earliest"),
      (AppointmentFixture.time(in: 31 * 86_400), "latest"), ("9999-12-31T23:59:59-23:59", "latest"),
      ("0000-01-01T00:00:00+23:59", "earliest"),
    ] {
      let answer = try await fixture.book(at)
      #expect(answer.summary == "422 invalid_request" && answer.names == ["at"], "\(at)")
      #expect(AppointmentFixture.fault(answer).contains(words), "\(at): \(AppointmentFixture.fault(answer))")
      #expect(try await fixture.book(at, query: "?validate").names == ["at"])
    }
    let number = try await fixture.calls.call(body: #"{"contact_phone_number":"\#(customerNumber)","at":5}"#)
    #expect(number.names == ["at"])
    let early = AppointmentFixture.time(in: 30)
    let all = try await fixture.calls.call(
      key: "a b", body: #"{"contact_phone_number":"1","at":"\#(early)","x":1}"#)
    #expect(Set(all.names) == ["contact_phone_number", "at", "x", "Idempotency-Key"])
    #expect(try await fixture.book(early, key: "a b").names == ["at", "Idempotency-Key"])
    // None of this was saved, so the key is free. Null counts as absent.
    #expect(try await fixture.book(early, key: "k").names == ["at"])
    let now = try await fixture.calls.call(
      key: "k", body: #"{"contact_phone_number":"\#(customerNumber)","at":null}"#)
    #expect(now.summary == "201" && now.json?["status"] == "accepted" && now.json?["at"] == nil)
    let audits = try await fixture.end()
    #expect(audits.someAndAll { $0["action"] == "callback" })
  }

  @Test func `a time up to a minute ago means now`() async throws {
    let fixture = try await AppointmentFixture()
    let answer = try await fixture.book(AppointmentFixture.time(in: -40), key: "k")
    #expect(answer.summary == "201" && answer.json?["status"] == "accepted" && answer.json?["at"] == nil)
    #expect(try await fixture.calls.call().summary == "409 duplicate")
    #expect(try await fixture.calls.journal().rings == [customerNumber: 1])
    // An immediate callback is not a duplicate of an appointment, nor the other way round.
    #expect(try await fixture.book(AppointmentFixture.hour(1)).summary == "201")
    _ = try await fixture.end()
  }

  @Test func `a server without the section takes no times`() async throws {
    let fixture = try await AppointmentFixture(nil)
    for seconds in [3600, -10] as [Int64] {
      let answer = try await fixture.book(AppointmentFixture.time(in: seconds))
      #expect(answer.summary == "422 invalid_request" && answer.names == ["at"])
      #expect(AppointmentFixture.fault(answer).contains("does not take appointments"))
    }
    let all = try await fixture.calls.call(
      body: #"{"contact_phone_number":"1","at":"\#(AppointmentFixture.time(in: 3600))"}"#)
    #expect(Set(all.names) == ["contact_phone_number", "at"])
    #expect(
      try await fixture.calls.look("/availability?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z").names
        == ["from", "to"])
    #expect(try await fixture.calls.look("/availability").json?["slots"] == nil)
    _ = try await fixture.end()
  }

  @Test func `opening hours are judged at the time of the call`() async throws {
    let today = AppointmentFixture.time(in: 0).prefix(10)
    let tomorrow = AppointmentFixture.time(in: 86_400).prefix(10)
    let closed = AppointmentFixture.time(in: 2 * 86_400).prefix(10)
    let fixture = try await AppointmentFixture(
      rules: """
        [{ name: hours, kind: hours, timezone: UTC, weekly: { mon-sun: "09:00-18:00" }, closed: ["\(today)", "\(closed)"] }]
        """)
    #expect(try await fixture.calls.call().summary == "403 closed")
    let answer = try await fixture.book("\(closed)T10:00:00Z")
    #expect(answer.summary == "403 closed" && answer.json?["rule"] == "hours")
    // Waiting does not help: the same time stays closed.
    #expect(answer.fields["Retry-After"] == nil && answer.json?["retry_after"] == nil)
    let next = AppointmentFixture.time(in: 3 * 86_400).prefix(10)
    #expect(answer.json?["next_open"] == .string("\(next)T09:00:00Z"))
    #expect(try await fixture.book("\(closed)T10:00:00Z", query: "?validate").summary == "403 closed")
    #expect(try await fixture.book("\(tomorrow)T10:00:00Z").summary == "201")
    _ = try await fixture.end()
  }

  @Test func `a number has as many appointments as it may have, and one for each time`() async throws {
    let fixture = try await AppointmentFixture(
      "{ slot: 1h, per_slot: 9, earliest: 1m, per_number: 2 }",
      rules: "[{ name: three, kind: quota, key: caller, limit: 3, per: month }]")
    let first = try await fixture.book(AppointmentFixture.hour(1))
    let same = try await fixture.book(AppointmentFixture.hour(1))
    #expect(same.summary == "409 duplicate" && same.id == first.id)
    #expect(try await fixture.book(AppointmentFixture.hour(2)).summary == "201")
    let third = try await fixture.book(AppointmentFixture.hour(3))
    #expect(third.summary == "409 duplicate" && third.id == first.id)
    #expect(try await fixture.book(AppointmentFixture.hour(3), query: "?validate").summary == "409 duplicate")
    // Another owner's appointments do not count, and the refused requests took nothing.
    let other = try await fixture.book(AppointmentFixture.hour(1), fields: AppointmentFixture.stranger)
    #expect(other.summary == "201")
    #expect(try await fixture.book(AppointmentFixture.hour(1), "+14155550111").summary == "201")
    // The quota is used up now, and a duplicate is still reported as one.
    #expect(
      try await fixture.book(AppointmentFixture.hour(1), "+14155550112").summary == "429 quota_exhausted")
    let fourth = try await fixture.book(AppointmentFixture.hour(3))
    #expect(fourth.summary == "409 duplicate" && fourth.id == first.id)
    _ = try await fixture.end()
  }

  @Test func `of two taps at once one books, and the other hears that it is a duplicate`() async throws {
    let fixture = try await AppointmentFixture(
      rules: "[{ name: once, kind: quota, key: caller, limit: 1, per: month }]")
    let at = AppointmentFixture.hour(1)
    async let taps = (0..<8).concurrently { _ in try await fixture.book(at).summary }
    #expect(try await taps.sorted() == ["201"] + Array(repeating: "409 duplicate", count: 7))
    _ = try await fixture.end()
  }

  @Test func `a full slot is refused with times that can be booked`() async throws {
    // The horizon ends half an hour after a whole hour. So hour 12 can always be booked, and at most one hour after it, even if
    // an hour begins during the test.
    let fixture = try await AppointmentFixture(
      "{ slot: 1h, per_slot: 1, earliest: 1m, horizon: 810m }",
      rules: "[{ name: four, kind: quota, key: caller, limit: 4, per: month }]")
    let numbers = (1...9).map { "+1415555010\($0)" }
    // The third request is for the first one's slot, at another time within it.
    #expect(try await fixture.book(AppointmentFixture.hour(1), numbers[0]).summary == "201")
    #expect(try await fixture.book(AppointmentFixture.hour(3), numbers[1]).summary == "201")
    let within = AppointmentFixture.hour(1).replacing("00:00Z", with: "30:00Z")
    let full = try await fixture.book(within, numbers[2])
    #expect(full.summary == "409 slot_full")
    let expected = [2, 4, 5, 6, 7, 8, 9, 10, 11, 12].map { JSONValue.string(AppointmentFixture.hour($0)) }
    #expect(full.json?["alternatives"] == .array(expected))
    #expect(try await fixture.book(within, numbers[2], query: "?validate").summary == "409 slot_full")
    // The refused booking took nothing.
    #expect(try await fixture.book(AppointmentFixture.hour(2), numbers[2]).summary == "201")
    #expect(try await fixture.book(AppointmentFixture.hour(4), numbers[3]).summary == "201")
    #expect(try await fixture.book(AppointmentFixture.hour(4), numbers[4]).summary == "409 slot_full")
    #expect(try await fixture.book(AppointmentFixture.hour(5), numbers[4]).summary == "429 quota_exhausted")
    let other = try await fixture.book(
      AppointmentFixture.hour(12), numbers[5], fields: AppointmentFixture.stranger)
    #expect(other.summary == "201")
    let last = try await fixture.book(
      AppointmentFixture.hour(12), numbers[6], fields: AppointmentFixture.stranger)
    #expect(last.summary == "409 slot_full" && last.json?["alternatives"]?.array?.count ?? 9 <= 1)
    let audits = try await fixture.end()
    let refusals = audits.filter { $0["code"] == "slot_full" }
    #expect(refusals.count >= 3 && refusals.allSatisfy { $0["decision"] == "deny" })
  }

  @Test func `a check says what a booking would, and keeps and takes nothing`() async throws {
    let fixture = try await AppointmentFixture(
      rules: "[{ name: once, kind: quota, key: caller, limit: 1, per: month }]")
    let at = AppointmentFixture.hour(1)
    for _ in 0..<3 {
      let answer = try await fixture.book(at, query: "?validate")
      #expect(answer.status == 200 && answer.json == ["valid": true])
    }
    #expect(try await fixture.book(at).summary == "201")
    #expect(try await fixture.book(at, "+14155550111", query: "?validate").summary == "429 quota_exhausted")
    _ = try await fixture.end()
  }

  @Test func `an installation's appointment carries the code that its owner sees`() async throws {
    let fixture = try await AppointmentFixture(
      more: "apps: { shop: { installations: { authorize: [user] }, callbacks: { verification_code: true } } }"
    )
    let id = "6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44"
    let enrolled = try await fixture.calls.call(
      path: "/fetch-code", body: #"{"client_id":"\#(id)","client_app":"Shop"}"#,
      fields: try AppointmentFixture.user("ann"))
    let secret = try #require(enrolled.json?["client_secret"]?.string)
    let phone: Fields = ["Authorization": "Basic " + Base64.encode(Array("\(id):\(secret)".utf8))]
    let at = AppointmentFixture.hour(1)
    let booked = try await fixture.book(at, key: "k", fields: phone)
    let code = try #require(booked.json?["verification_code"]?.string)
    #expect(code.wholeMatch(of: /[0-9]{6}/) != nil)
    #expect(try await fixture.book(at, key: "k", fields: phone).content == booked.content)
    // The user owns it as well as the phone.
    for owner in [phone, try AppointmentFixture.user("ann")] {
      #expect(try await fixture.look(booked.id, fields: owner).json?["verification_code"]?.string == code)
      let list = try await fixture.calls.look("/callbacks?status=scheduled", owner)
      #expect(list.json?["callbacks"]?.array?.map { $0["id"]?.string } == [booked.id])
    }
    let moved = try await fixture.move(
      booked.id, to: AppointmentFixture.hour(2), fields: try AppointmentFixture.user("ann"))
    #expect(moved.summary == "200" && moved.json?["verification_code"]?.string == code)
    let audits = try await fixture.end()
    #expect(audits.map { $0["action"]?.string } == ["enrol", "callback", "callback", "change"])
    #expect(!audits.contains { String(decoding: $0.serialized(), as: UTF8.self).contains(code) })
  }
}

extension Range<Int> {
  /// Does something for each number at the same time.
  func concurrently<Result: Sendable>(
    _ body: @escaping @Sendable (Int) async throws -> Result
  ) async throws -> [Result] {
    try await withThrowingTaskGroup(of: Result.self) { group in
      for number in self { group.addTask { try await body(number) } }
      var results: [Result] = []
      for try await result in group { results.append(result) }
      return results
    }
  }
}
