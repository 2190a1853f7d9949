// Tests of carrying out, ending and forgetting appointments that every store must pass.

import Gate
import JOSE
import Sealing
import Store
import Testing

@Suite struct AppointmentEndingTests {
  // MARK: Cancelling

  @Test(arguments: StoreKind.available)
  func `what is cancelled has ended once, and gives everything back`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Booking.made(perSlot: 1, perNumber: 1, code: [1], content: [7, 8])
    #expect(try await store.book(booking, at: .noon()) == .booked)
    guard case .ended(let record, let content) = try await store.end(booking.id, .cancelled, at: .noon(5))
    else { return #expect(Bool(false)) }
    #expect(content == [7, 8])
    #expect(record.status == .cancelled && record.settledAt == .noon(5) && record.code == nil)
    #expect(record.at == .noon(3600) && record.verificationCode?.until == .noon(3605))
    #expect(try await store.end(booking.id, .cancelled, at: .noon(6)) == .unchanged(record))
    #expect(try await store.end(CallbackID(at: .noon()), .cancelled, at: .noon(6)) == .missing)
    #expect(try await store.scheduledAppointment(booking.id) == nil)
    #expect(try await store.dueAppointments(at: .noon(9999), most: 9).isEmpty)
    #expect(try await !store.mark(booking.id, for: .noon(3600), deadline: .noon(3630)))
    #expect(try await !store.postpone(booking.id, until: .noon(3700), code: nil))
    #expect(try await store.appointmentCounts(dueBefore: .noon()) == AppointmentCounts())
    #expect(try await store.takenPlaces(in: booking.slot...booking.slot).isEmpty)
    #expect(try await store.book(.made(perSlot: 1, perNumber: 1), at: .noon(6)) == .booked)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `only its owner ends an appointment whatever its time is`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for (place, isExpired) in [true, false].enumerated() {
      func ending(_ due: Instant) -> AppointmentEnding {
        isExpired ? .expired(due: due) : .failed("closed", due: due)
      }
      let booking = Booking.made("+1415555016\(place)", key: "\(place)", perNumber: 1)
      #expect(try await store.book(booking, at: .noon()) == .booked)
      let scheduled = try #require(try await store.callback(booking.id, of: "ios-app"))
      // An ending that was decided for another time changes nothing.
      for due in [3599, 3601] {
        let result = try await store.end(booking.id, ending(.noon(Double(due))), at: .noon(3600))
        #expect(result == .unchanged(scheduled))
      }
      guard
        case .ended(let record, let content) = try await store.end(
          booking.id, ending(.noon(3600)), at: .noon(3600))
      else { return #expect(Bool(false)) }
      #expect(content == booking.content && record.settledAt == .noon(3600))
      #expect(record.status == (isExpired ? .expired : .failed))
      #expect(record.code == (isExpired ? nil : "closed"))
      // Its number is free again. Its place in the slot stays taken, since the slot is in the past.
      #expect(
        try await store.book(.made("+1415555016\(place)", for: 7200, perNumber: 1), at: .noon(3600))
          == .booked)
      #expect(
        try await store.takenPlaces(in: booking.slot...booking.slot) == [booking.slot: place + 1])
    }
    await store.close()
  }

  // MARK: Carrying out

  @Test(arguments: StoreKind.available)
  func `of many that mark an appointment one makes its call`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let stores = [store, fixture.open(), fixture.open()]
    for round in 0..<10 {
      let booking = Booking.made("+1415555\(1000 + round)")
      #expect(try await store.book(booking, at: .noon()) == .booked)
      let marked = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<12 {
          group.addTask {
            try await stores[number % 3].mark(booking.id, for: booking.at, deadline: .noon(3630))
          }
        }
        return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(marked == 1)
    }
    #expect(try await store.appointmentCounts(dueBefore: .noon()) == AppointmentCounts(pending: 10))
    for store in stores { await store.close() }
  }

  @Test(arguments: StoreKind.available)
  func `a moved appointment is not marked for the time it had`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Booking.made()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    _ = try await store.move(.made(for: 7200, moving: booking.id), at: .noon(3600))
    #expect(try await !store.mark(booking.id, for: .noon(3600), deadline: .noon(3630)))
    // A postponement by the attempt for the old time does not make the new time earlier.
    #expect(try await store.postpone(booking.id, until: .noon(3605), code: "upstream_unavailable"))
    let due = try #require(try await store.scheduledAppointment(booking.id))
    #expect(due.due == .noon(7200) && due.tries == 0)
    #expect(try await store.end(booking.id, .expired(due: .noon(3600)), at: .noon(3800)).ended == nil)
    #expect(try await store.mark(booking.id, for: .noon(7200), deadline: .noon(7230)))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a cancel and a mark that race have one winner`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    for round in 0..<30 {
      let booking = Booking.made("+1415555\(1000 + round)")
      #expect(try await store.book(booking, at: .noon()) == .booked)
      async let marking = other.mark(booking.id, for: booking.at, deadline: .noon(3630))
      async let ending = store.end(booking.id, .cancelled, at: .noon(3600))
      let (isMarked, end) = try await (marking, ending)
      #expect(isMarked == (end.ended == nil))
      #expect(
        try await store.callback(booking.id, of: "ios-app")?.status == (isMarked ? .pending : .cancelled))
    }
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `between tries an appointment is scheduled, and remembers them`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Booking.made(content: [7, 8])
    #expect(try await store.book(booking, at: .noon()) == .booked)
    #expect(try await store.mark(booking.id, for: .noon(3600), deadline: .noon(3630)))
    #expect(try await store.postpone(booking.id, until: .noon(3602), code: "upstream_unavailable"))
    var due = try #require(try await store.dueAppointments(at: .noon(3602), most: 9).first)
    #expect(due.record.status == .scheduled && due.at == .noon(3600) && due.due == .noon(3602))
    #expect(due.tries == 1 && due.lastCode == "upstream_unavailable" && due.content == [7, 8])
    // A repeated postponement finds no mark and changes nothing.
    #expect(try await store.postpone(booking.id, until: .noon(3606), code: "token_unavailable"))
    #expect(try await store.postpone(booking.id, until: .noon(3607), code: nil))
    #expect(try await store.scheduledAppointment(booking.id) == due)
    #expect(try await store.mark(booking.id, for: .noon(3602), deadline: .noon(3632)))
    #expect(try await store.postpone(booking.id, until: .noon(3607), code: nil))
    due = try #require(try await store.scheduledAppointment(booking.id))
    #expect(due.due == .noon(3607) && due.tries == 1 && due.lastCode == "upstream_unavailable")
    // The deadline of the earlier mark does not make the postponed appointment abandoned.
    #expect(try await store.recoverCallbacks(at: .noon(3700)).callbacks == 0)
    #expect(try await store.end(booking.id, .cancelled, at: .noon(3603)).ended?.status == .cancelled)
    #expect(try await !store.postpone(booking.id, until: .noon(3610), code: nil))
    #expect(try await !store.postpone(CallbackID(at: .noon()), until: .noon(3610), code: nil))
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `another instance postpones nothing that this one carries out, and waits for the next try`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    let booking = Booking.made()
    #expect(try await other.book(booking, at: .noon()) == .booked)
    #expect(try await store.mark(booking.id, for: .noon(3600), deadline: .noon(3630)))
    #expect(try await !other.postpone(booking.id, until: .noon(3610), code: nil))
    #expect(try await store.callback(booking.id, of: "ios-app")?.status == .pending)
    #expect(try await store.postpone(booking.id, until: .noon(3610), code: nil))
    // The due time that was read before the first instance's attempt no longer works.
    #expect(try await !other.mark(booking.id, for: .noon(3600), deadline: .noon(3640)))
    #expect(try await other.mark(booking.id, for: .noon(3610), deadline: .noon(3640)))
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a settlement ends an appointment and wipes what its call needed`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let keys = StoreKeys(current: StoreKey(Secret([UInt8](repeating: 1, count: 32))))
    _ = try await store.updateKeys(at: .noon()) { KeyRuling($0, holding: keys) }
    func book(_ contact: String) async throws -> Booking {
      let booking = Booking.made(contact, content: try keys.seal([7], for: .appointment, associated: [1]))
      #expect(try await store.book(booking, at: .noon()) == .booked)
      #expect(try await store.mark(booking.id, for: .noon(3600), deadline: .noon(3630)))
      return booking
    }
    let (accepted, failed) = (try await book("+14155550165"), try await book("+14155550166"))
    #expect(try await store.keys().map(\.sealedUntil) == [.noon(3600 + 210)])
    let settled = try #require(try await store.settle(accepted.id, .accepted(at: .noon(3601))))
    #expect(settled.status == .accepted && settled.at == .noon(3600) && settled.settledAt == .noon(3601))
    #expect(try await store.keys().map(\.sealedUntil) == [.noon(3600 + 210)])
    #expect(try await store.settle(failed.id, .failed(at: .noon(3601)))?.status == .failed)
    #expect(try await store.keys().map(\.sealedUntil) == [nil])
    #expect(try await store.appointmentCounts(dueBefore: .noon()) == AppointmentCounts())
    #expect(
      try await store.takenPlaces(in: accepted.slot...accepted.slot) == [accepted.slot: 2],
      "they had their places")
    await store.close()
  }

  // MARK: Recovering

  @Test(arguments: StoreKind.available)
  func `a callback that nobody settles is unknown, and its content is wiped`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let keys = StoreKeys(current: StoreKey(Secret([UInt8](repeating: 1, count: 32))))
    _ = try await store.updateKeys(at: .noon()) { KeyRuling($0, holding: keys) }
    let booking = Booking.made(
      key: "k", retention: .seconds(60), perNumber: 1, code: [1],
      content: try keys.seal([7], for: .appointment, associated: [1]))
    #expect(try await store.book(booking, at: .noon()) == .booked)
    #expect(try await store.recoverCallbacks(at: .noon(99_999)).callbacks == 0, "it is not pending")
    #expect(try await store.mark(booking.id, for: .noon(3600), deadline: .noon(3630)))
    #expect(try await store.recoverCallbacks(at: .noon(3640).later(0, nanoseconds: -1)).callbacks == 0)
    #expect(try await store.recoverCallbacks(at: .noon(3640)).callbacks == 1)
    let record = try #require(try await store.callback(booking.id, of: "ios-app"))
    #expect(record.status == .unknown && record.code == "outcome_unknown" && record.at == .noon(3600))
    #expect(record.settledAt == .noon(3640) && record.verificationCode?.until == .noon(7240))
    #expect(try await store.keys().map(\.sealedUntil) == [nil])
    #expect(try await !store.postpone(booking.id, until: .noon(3650), code: nil))
    #expect(try await store.appointmentCounts(dueBefore: .noon()) == AppointmentCounts())
    // The number is free, and the key and the record stay for the retention of keys.
    #expect(try await store.book(.made(for: 7200, perNumber: 1), at: .noon(3641)) == .booked)
    try await store.purge(at: .noon(7239))
    #expect(try await store.standing(of: booking.intent, at: .noon(7239)).key == .replay(record))
    #expect(try await store.standing(of: booking.intent, at: .noon(7240)).key == .free)
    try await store.purge(at: .noon(7240))
    #expect(try await store.callback(booking.id, of: "ios-app") == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `what a dead instance carried out is unknown, and what it only booked is still scheduled`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    let (marked, booked) = (Booking.made(key: "k", code: [1]), Booking.made("+14155550166"))
    let theirs = Booking.made("+14155550167")
    for booking in [marked, booked, theirs] { #expect(try await store.book(booking, at: .noon()) == .booked) }
    #expect(try await store.mark(marked.id, for: .noon(3600), deadline: .noon(3630)))
    #expect(try await other.mark(theirs.id, for: .noon(3600), deadline: .noon(3630)))
    #expect(try await other.recoverCallbacks(at: .noon(3601)).callbacks == 0)
    await store.close()
    #expect(try await other.recoverCallbacks(at: .noon(3602)).callbacks == 1)
    let record = try #require(try await other.callback(marked.id, of: "ios-app"))
    #expect(record.status == .unknown && record.settledAt == .noon(3602))
    #expect(record.verificationCode?.until == .noon(7202))
    #expect(try await other.standing(of: marked.intent, at: .noon(7201)).key == .replay(record))
    #expect(try await other.standing(of: marked.intent, at: .noon(7202)).key == .free)
    #expect(try await other.callback(theirs.id, of: "ios-app")?.status == .pending)
    #expect(try await other.dueAppointments(at: .noon(3602), most: 9).map(\.record.id) == [booked.id])
    await other.close()
  }

  // MARK: Forgetting

  @Test(arguments: StoreKind.available)
  func `a purge spares what is scheduled, and forgets what has ended at its time`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let (scheduled, ended) = (
      Booking.made(key: "s", code: [1]), Booking.made("+14155550166", key: "e", code: [2])
    )
    for booking in [scheduled, ended] { #expect(try await store.book(booking, at: .noon()) == .booked) }
    _ = try await store.end(ended.id, .cancelled, at: .noon(10))
    try await store.purge(at: .noon(3609))
    #expect(try await store.callback(ended.id, of: "ios-app")?.verificationCode?.sealed == [2])
    try await store.purge(at: .noon(3610))
    #expect(try await store.callback(ended.id, of: "ios-app")?.verificationCode == nil)
    try await store.purge(at: .noon(10 + 86_399))
    #expect(try await store.callback(ended.id, of: "ios-app")?.status == .cancelled)
    try await store.purge(at: .noon(10 + 86_400))
    #expect(try await store.callback(ended.id, of: "ios-app") == nil)
    // After an outage of months the appointment still has its key and its code, so that it can expire.
    try await store.purge(at: .noon(9_999_999))
    let due = try #require(try await store.dueAppointments(at: .noon(9_999_999), most: 9).first)
    #expect(due.content == scheduled.content && due.record.verificationCode?.sealed == [1])
    #expect(
      try await store.standing(of: scheduled.intent, at: .noon(9_999_999)).key == .replay(due.record))
    #expect(
      try await store.end(scheduled.id, .expired(due: .noon(3600)), at: .noon(9_999_999)).ended?.status
        == .expired)
    try await store.purge(at: .noon(9_999_999 + 86_400))
    #expect(try await store.callback(scheduled.id, of: "ios-app") == nil)
    #expect(try await store.takenPlaces(in: scheduled.slot...scheduled.slot).isEmpty)
    await store.close()
  }

  // MARK: In doubt

  /// The change that another instance confirms while the booking instance does not know yet whether its
  /// booking was saved.
  enum Acknowledgement: CaseIterable { case nothing, booking, move, cancel, call }

  @Test(arguments: StoreKind.lasting, Acknowledgement.allCases)
  func `what another instance confirmed about a booking stays, whatever its own instance does later`(
    _ kind: StoreKind, _ acknowledged: Acknowledgement
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    let booking = Booking.made(key: "k", perSlot: 1, perNumber: 1)
    #expect(try await store.book(booking, at: .noon()) == .booked)
    switch acknowledged {
    case .nothing: break
    case .booking:
      let record = try #require(try await other.callback(booking.id, of: "ios-app"))
      #expect(try await other.standing(of: booking.intent, at: .noon(1)).key == .replay(record))
      #expect(try await other.book(.made(key: "k"), at: .noon(1)) == .replay(record))
    case .move:
      #expect(try await other.move(.made(for: 7200, moving: booking.id), at: .noon(1)).moved != nil)
    case .cancel: #expect(try await other.end(booking.id, .cancelled, at: .noon(1)).ended != nil)
    case .call: #expect(try await other.mark(booking.id, for: .noon(3600), deadline: .noon(3630)))
    }
    let before = try #require(try await other.callback(booking.id, of: "ios-app"))
    let due = try await other.scheduledAppointment(booking.id)
    try await store.withdraw(booking.id)
    #expect(try await store.certainRecord(booking.id) == before)
    if due != nil {
      // Releasing a mark that was never made changes nothing.
      #expect(try await store.postpone(booking.id, until: .noon(3605), code: "internal"))
    }
    #expect(try await store.end(booking.id, .expired(due: .noon(3599)), at: .noon(9999)).ended == nil)
    #expect(try await other.callback(booking.id, of: "ios-app") == before)
    #expect(try await other.scheduledAppointment(booking.id) == due)
    #expect(try await other.standing(of: booking.intent, at: .noon(2)).key == .replay(before))
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `what was never booked has no record`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.certainRecord(CallbackID(at: .noon())) == nil)
    await store.close()
  }

  // MARK: Store keys

  @Test(arguments: StoreKind.available)
  func `contents and codes are sealed with the other key, and what does not open is removed`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let old = StoreKeys(current: StoreKey(Secret([UInt8](repeating: 1, count: 32))))
    let new = StoreKeys(current: StoreKey(Secret([UInt8](repeating: 2, count: 32))))
    let rotation = StoreKeys(current: new.current, previous: old.current)
    _ = try await store.updateKeys(at: .noon()) { KeyRuling($0, holding: old) }
    _ = try await store.updateKeys(at: .noon(1)) { KeyRuling($0, holding: rotation) }
    // More rows than SQLite replaces in one transaction.
    let count = kind == .sqlite ? 260 : 20
    var bookings: [Booking] = []
    for number in 0..<count {
      let id = CallbackID(at: .noon())
      bookings.append(
        .made(
          "+1415555\(1000 + number)", moving: id, perSlot: 999,
          code: number == 0 ? try old.seal([5], for: .sealing, associated: id.bytes) : nil,
          content: try old.seal([7], for: .appointment, associated: number == 3 ? [] : id.bytes)))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for booking in bookings { group.addTask { _ = try await store.book(booking, at: .noon()) } }
      try await group.waitForAll()
    }
    #expect(try await store.keys().map(\.sealedUntil) == [.noon(3600 + 210 + 3600), nil])
    #expect(try await store.keys().map(\.isOpen) == [true, false])
    let replaced = try await store.reseal(old.current.id) { value in
      guard let content = try? rotation.open(value.sealed, for: value.purpose, associated: value.id) else {
        return nil
      }
      return try? rotation.seal(content, for: value.purpose, associated: value.id)
    }
    #expect(replaced == count + 1)
    #expect(try await store.keys().map(\.sealedUntil) == [nil, .noon(3600 + 210 + 3600)])
    for (number, booking) in bookings.enumerated() {
      let due = try #require(try await store.scheduledAppointment(booking.id))
      if number == 3 {
        #expect(due.content.isEmpty, "it is still due, to end")
      } else {
        #expect(try new.open(due.content, for: .appointment, associated: booking.id.bytes) == [7])
      }
    }
    // Overdue appointments still need the old key.
    #expect(try await store.keys().map(\.isOpen) == [false, true])
    for booking in bookings.dropFirst(4) { _ = try await store.end(booking.id, .cancelled, at: .noon(5)) }
    _ = try await store.end(bookings[0].id, .cancelled, at: .noon(5))
    try await store.purge(at: .noon(3605))
    #expect(try await store.keys().map(\.sealedUntil) == [nil, .noon(3600 + 210)])
    for booking in bookings[1..<3] { _ = try await store.end(booking.id, .cancelled, at: .noon(5)) }
    #expect(try await store.keys().map(\.isOpen) == [false, false])
    await store.close()
  }
}
