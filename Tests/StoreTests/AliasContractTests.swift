// Tests, for every store, of a callback's alias in another API and of rewritten contents.

import Gate
import JOSE
import Store
import TestSupport
import Testing

@Suite struct AliasContractTests {
  private static func digest(_ text: String) -> SHA256Digest { SHA256Digest(of: Array(text.utf8)) }

  private static func alias(_ name: String, _ number: String) -> CallbackAlias {
    CallbackAlias(name: digest(name), number: digest(number), service: "support é")
  }

  /// A booking with an alias.
  private static func booking(_ name: String, _ number: String, at now: Instant = .noon()) -> Booking {
    let made = Booking.made(at: now)
    var intent = made.intent
    intent.alias = alias(name, number)
    return Booking(
      intent: intent, at: made.at, slot: made.slot, content: made.content, limits: made.limits)
  }

  @Test(arguments: StoreKind.available)
  func `a callback is found by its name and by its number, the newest first`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    var intent = CallbackIntent.made(window: .zero)
    intent.alias = Self.alias("one", "number")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    let second = Booking.made("+14155550100", at: .noon(1))
    var named = second.intent
    named.alias = Self.alias("two", "number")
    let booking = Booking(
      intent: named, at: second.at, slot: second.slot, content: second.content, limits: second.limits)
    #expect(try await store.book(booking, at: .noon(1)) == .booked)
    #expect(try await store.begin(.made("+14155550101"), at: .noon(2)) == .begun, "without a name")
    let other = fixture.open()
    for store in [store, other] {
      let found = try await store.callbacks(.name(Self.digest("one")))
      #expect(found.map(\.id) == [intent.id])
      #expect(found.first?.alias == Self.alias("one", "number"))
      #expect(
        try await store.callbacks(.numbers([Self.digest("none"), Self.digest("number")])).map(\.id)
          == [booking.id, intent.id])
      #expect(try await store.callbacks(.name(Self.digest("number"))).isEmpty)
      #expect(try await store.callbacks(.numbers([])).isEmpty)
    }
    try await store.settle(intent.id, .accepted())
    _ = try await store.end(booking.id, .cancelled, at: .noon(3))
    #expect(try await store.callbacks(.numbers([Self.digest("number")])).someAndAll { $0.alias != nil })
    #expect(try await store.callback(intent.id, of: "ios-app")?.alias == Self.alias("one", "number"))
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the number of a scheduled callback gets another hash with its content, and nothing else does`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    // More rows than SQLite changes in one transaction.
    let count = kind == .sqlite ? 260 : 20
    var bookings: [Booking] = []
    for number in 0..<count {
      let made = Booking.made("+14155550\(100 + number)", perSlot: 1000, at: .noon())
      var intent = made.intent
      intent.alias = Self.alias("\(number)", "old")
      bookings.append(
        Booking(intent: intent, at: made.at, slot: made.slot, content: made.content, limits: made.limits))
      #expect(try await store.book(bookings[number], at: .noon()) == .booked)
    }
    let (over, plain) = (bookings[0], Booking.made("+14155550999", perSlot: 1000, at: .noon()))
    _ = try await store.end(over.id, .cancelled, at: .noon())
    #expect(try await store.book(plain, at: .noon()) == .booked)
    let hash = Self.digest("new")
    let renewed = try await store.renewAliases { appointment in
      appointment.record.alias?.number == hash
        ? nil : AliasRenewal(number: hash, content: appointment.content + [7])
    }
    #expect(renewed == count - 1)
    let found = try await store.callbacks(.numbers([hash]))
    #expect(Set(found.map(\.id)) == Set(bookings.dropFirst().map(\.id)))
    #expect(found.someAndAll { $0.alias?.service == "support é" })
    #expect(try await store.callbacks(.name(Self.digest("3"))).map(\.id) == [bookings[3].id], "names stay")
    #expect(try await store.scheduledAppointment(bookings[3].id)?.content == bookings[3].content + [7])
    #expect(try await store.callbacks(.numbers([Self.digest("old")])).map(\.id) == [over.id])
    #expect(try await store.scheduledAppointment(plain.id)?.content == plain.content)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a content is replaced if it is the one that was read`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Self.booking("one", "number")
    #expect(try await store.book(booking, at: .noon()) == .booked)
    #expect(try await store.rewrite(booking.id, from: [1], to: [2]) == false)
    #expect(try await store.rewrite(booking.id, from: booking.content, to: [2]))
    #expect(try await store.rewrite(booking.id, from: booking.content, to: [3]) == false)
    #expect(try await store.scheduledAppointment(booking.id)?.content == [2])
    let before = try await store.callback(booking.id, of: "ios-app")
    #expect(before?.alias == Self.alias("one", "number") && before?.at == booking.at)
    // A move keeps the content unless it replaces it.
    let plain = Booking.made(for: 7200, moving: booking.id, content: [9])
    #expect(try await store.move(plain, at: .noon()).moved?.at == plain.at)
    #expect(try await store.scheduledAppointment(booking.id)?.content == [2])
    var replacing = Booking.made(for: 9000, moving: booking.id, content: [9])
    replacing.replacedContent = [1]
    #expect(try await store.move(replacing, at: .noon()) == .rewritten)
    #expect(try await store.scheduledAppointment(booking.id)?.at == plain.at, "nothing has changed")
    replacing.replacedContent = [2]
    #expect(try await store.move(replacing, at: .noon()).moved?.alias == Self.alias("one", "number"))
    #expect(try await store.scheduledAppointment(booking.id)?.content == [9])
    #expect(try await store.end(booking.id, .cancelled, at: .noon(1)).ended != nil)
    #expect(try await store.rewrite(booking.id, from: [9], to: [1]) == false, "over")
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `without notices an appointment is put off as often as it may be, and called now`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Self.booking("one", "number")
    #expect(try await store.book(booking, at: .noon()) == .booked)
    func change(_ serial: Int, from: Instant, to: Instant, snoozes: Int? = nil) -> Rescheduling {
      Rescheduling(
        id: booking.id, serial: serial, from: from, at: to, confirmAt: nil, deadline: .noon(9000),
        mostSnoozes: snoozes)
    }
    func isRefused(_ change: Rescheduling) async throws -> Bool {
      if case .tooLate = try await store.reschedule(change, at: .noon()) { true } else { false }
    }
    let first = booking.at.advanced(by: .seconds(300))
    #expect(try await isRefused(change(1, from: booking.at, to: first)), "another serial number")
    guard
      case .rescheduled(let snoozed) = try await store.reschedule(
        change(0, from: booking.at, to: first, snoozes: 1), at: .noon())
    else {
      Issue.record("it was not put off")
      return
    }
    #expect(snoozed.at == first && snoozed.snoozes == 1 && snoozed.notices == nil)
    #expect(try await isRefused(change(0, from: first, to: .noon(8000), snoozes: 1)), "once too often")
    // The customer's answer is about a time that the appointment no longer has.
    #expect(try await isRefused(change(0, from: booking.at, to: .noon(60), snoozes: 3)))
    #expect(try await isRefused(change(0, from: booking.at, to: .noon(60))))
    guard
      case .rescheduled(let record) = try await store.reschedule(
        change(0, from: first, to: .noon(60)), at: .noon())
    else {
      Issue.record("it was not changed")
      return
    }
    #expect(record.at == .noon(60) && record.snoozes == 1)
    await store.close()
  }
}
