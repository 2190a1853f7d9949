// Tests of booking, moving and listing appointments that every store must pass.

import Gate
import Store
import TestSupport
import Testing

@Suite struct AppointmentContractTests {
  /// Runs `count` calls at once and returns their results.
  private func all<Result: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Result
  ) async throws -> [Result] {
    try await withThrowingTaskGroup(of: Result.self) { group in
      for number in 0..<count { group.addTask { try await body(number) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  /// Three instances that are ready to write.
  private func instances(_ store: any Store, _ fixture: StoreFixture) async throws -> [any Store] {
    let stores = [store, fixture.open(), fixture.open()]
    for store in stores { try await store.migrate() }
    return stores
  }

  // MARK: Booking

  @Test(arguments: StoreKind.available)
  func `a booking is kept with all that its call needs`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Booking.made(
      key: "k", subject: "user", code: [1, 2, 3], content: (0...255).map { UInt8($0) }, at: .noon(0.5))
    #expect(try await store.book(booking, at: .noon(0.5)) == .booked)
    let record = try #require(try await store.callback(booking.id, of: "ios-app"))
    #expect(record.status == .scheduled && record.at == .noon(3600) && record.createdAt == .noon(0.5))
    #expect(record.subject == "user" && record.contact == "+*********65" && record.settledAt == nil)
    #expect(record.verificationCode?.sealed == [1, 2, 3])
    #expect(record.verificationCode?.until == .noon(3600 + 210 + 3600), "as if it ended at the last moment")
    let due = try #require(try await store.scheduledAppointment(booking.id))
    #expect(due.record == record && due.at == .noon(3600) && due.due == due.at)
    #expect(due.tries == 0 && due.lastCode == nil && due.content == booking.content)
    #expect(try await store.dueAppointments(at: .noon(3600).later(0, nanoseconds: -1), most: 9).isEmpty)
    #expect(try await store.dueAppointments(at: .noon(3600), most: 9) == [due])
    #expect(try await store.appointmentCounts(dueBefore: .noon()) == AppointmentCounts(scheduled: 1))
    #expect(try await store.callbacks(CallbackQuery(status: .scheduled, limit: 9)) == [record])
    // Another instance finds the same.
    let other = fixture.open()
    #expect(try await other.scheduledAppointment(booking.id) == due)
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a key answers from the booking until its retention after the end`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Booking.made(key: "k")
    let again = Booking.made(key: "k")
    let other = Booking.made(key: "k", asks: "b")
    #expect(try await store.book(booking, at: .noon()) == .booked)
    func replayed(at now: Instant) async throws -> StoredCallback? {
      #expect(try await store.book(other, at: now) == .mismatch)
      guard case .replay(let record) = try await store.book(again, at: now) else { return nil }
      #expect(try await store.standing(of: again.intent, at: now).key == .replay(record))
      #expect(try await store.callback(booking.id, of: "ios-app") == record)
      return record
    }
    #expect(try await replayed(at: .noon(1))?.status == .scheduled)
    _ = try await store.move(.made(for: 7200, moving: booking.id), at: .noon(2))
    #expect(try await replayed(at: .noon(3))?.at == .noon(7200))
    #expect(try await store.mark(booking.id, for: .noon(7200), deadline: .noon(7230)))
    #expect(try await replayed(at: .noon(7201))?.status == .pending)
    // A repetition gets the answer to the booking, whatever the outcome of the call.
    _ = try await store.settle(booking.id, .failed(at: .noon(7205)))
    #expect(try await replayed(at: .noon(7206))?.status == .failed)
    #expect(try await replayed(at: .noon(10_804))?.status == .failed)
    #expect(try await store.standing(of: other.intent, at: .noon(10_805)).key == .free)
    #expect(try await store.book(again, at: .noon(10_805)) == .booked)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the key of a cancelled appointment answers with it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Booking.made(key: "k")
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let ended = try #require(try await store.end(booking.id, .cancelled, at: .noon(5)).ended)
    #expect(try await store.book(.made(key: "k"), at: .noon(3604)) == .replay(ended))
    #expect(try await store.book(.made(key: "k"), at: .noon(3605)) == .booked)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a booking is a duplicate of one for the same time, and an immediate call of neither`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = Booking.made()
    #expect(try await store.book(first, at: .noon()) == .booked)
    #expect(try await store.book(.made(), at: .noon(59)) == .duplicate(first.id))
    #expect(try await store.book(.made(for: 3601), at: .noon(59)) == .booked)
    #expect(try await store.begin(.made(), at: .noon(59)) == .begun)
    #expect(try await store.book(.made(for: 3602), at: .noon(59)) == .booked)
    // Bookings of other owners or for other numbers are not duplicates, nor is one after the window.
    #expect(try await store.book(.made(subject: "user"), at: .noon(59)) == .booked)
    #expect(try await store.book(.made(caller: "partner"), at: .noon(59)) == .booked)
    #expect(try await store.book(.made("+14155550166"), at: .noon(59)) == .booked)
    #expect(try await store.book(.made(), at: .noon(60)) == .booked)
    #expect(try await store.book(.made(window: .zero), at: .noon(61)) == .booked)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an owner has so many appointments for a number, and the next is a duplicate of the first`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = Booking.made(for: 9000, perNumber: 2, at: .noon())
    let second = Booking.made(for: 3600, perNumber: 2, at: .noon(1))
    #expect(try await store.book(first, at: .noon()) == .booked)
    #expect(try await store.book(second, at: .noon(1)) == .booked)
    let third = Booking.made(for: 5000, perNumber: 2, at: .noon(2))
    #expect(try await store.book(third, at: .noon(2)) == .duplicate(first.id))
    #expect(try await store.book(.made(for: 5000, subject: "user", perNumber: 2), at: .noon(2)) == .booked)
    #expect(try await store.book(.made("+14155550166", for: 5000, perNumber: 2), at: .noon(2)) == .booked)
    // The second appointment counts while its call is made, and not after the call is settled.
    #expect(try await store.mark(second.id, for: .noon(3600), deadline: .noon(3620)))
    #expect(try await store.book(third, at: .noon(3601)) == .duplicate(first.id))
    _ = try await store.settle(second.id, .accepted(at: .noon(3602)))
    #expect(try await store.book(third, at: .noon(3603)) == .booked)
    _ = try await store.end(first.id, .cancelled, at: .noon(3604))
    #expect(
      try await store.book(.made(for: 5001, perNumber: 2, at: .noon(3605)), at: .noon(3605)) == .booked)
    #expect(try await store.book(.made(for: 5002, perNumber: 2), at: .noon(3605)) == .duplicate(third.id))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a slot never holds more than its places, whoever books`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let stores = try await instances(store, fixture)
    let results = try await all(240) { number in
      // Three slots, from three instances.
      try await stores[number % 3].book(
        .made("+1415555\(1000 + number)", for: Double(3600 + 900 * (number / 3 % 3)), perSlot: 20),
        at: .noon())
    }
    #expect(results.filter { $0 == .booked }.count == 60)
    #expect(results.filter { $0 == .full }.count == 180)
    let slot = Booking.made().slot
    #expect(
      try await store.takenPlaces(in: slot...slot + 1800) == [slot: 20, slot + 900: 20, slot + 1800: 20])
    #expect(try await store.takenPlaces(in: slot + 1...slot + 900) == [slot + 900: 20])
    #expect(try await store.takenPlaces(in: slot + 1...slot + 899).isEmpty)
    for store in stores { await store.close() }
  }

  @Test(arguments: StoreKind.available)
  func `a number never has more than its appointments, wherever they are booked and moved`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let stores = try await instances(store, fixture)
    let results = try await all(240) { number in
      try await stores[number % 3].book(.made(for: Double(3600 + 900 * number), perNumber: 3), at: .noon())
    }
    #expect(results.filter { $0 == .booked }.count == 3)
    // Three appointments move again and again between seven slots with room for one each. Some moves succeed,
    // and no slot ends up with two.
    let slot = Booking.made().slot
    let own = try await store.appointments(of: "ios-app", subject: "ios-app", most: 9).map(\.id)
    let moves = try await all(90) { number in
      try await stores[number % 3].move(
        .made(for: Double(3600 + 900 * (number % 7)), moving: own[number % 3], perSlot: 1, perNumber: 3),
        at: .noon(1))
    }
    #expect(moves.contains { $0.moved != nil })
    let times = try await store.appointments(of: "ios-app", subject: "ios-app", most: 9).compactMap(\.at)
    let taken = try await store.takenPlaces(in: slot...slot + 900 * 240)
    #expect(times.count == 3 && taken == Dictionary(uniqueKeysWithValues: times.map { ($0.seconds, 1) }))
    for store in stores { await store.close() }
  }

  // MARK: Moving

  @Test(arguments: StoreKind.available)
  func `a move keeps the appointment and gives it another time`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Booking.made(key: "k", code: [1, 2, 3])
    let (old, new) = (booking.slot, Booking.made(for: 9000).slot)
    #expect(try await store.book(booking, at: .noon()) == .booked)
    #expect(try await store.postpone(booking.id, until: .noon(3605), code: "upstream_unavailable"))
    // The move brings its own sealed code and content. The stored ones stay.
    let move = Booking.made(for: 9000, moving: booking.id, perNumber: 1, code: [9], content: [9])
    let moved = try #require(try await store.move(move, at: .noon(30)).moved)
    #expect(moved.at == .noon(9000) && moved.status == .scheduled && moved.createdAt == .noon())
    #expect(moved.verificationCode?.sealed == [1, 2, 3])
    #expect(moved.verificationCode?.until == .noon(9000 + 210 + 3600))
    #expect(try await store.callback(booking.id, of: "ios-app") == moved)
    let due = try #require(try await store.scheduledAppointment(booking.id))
    #expect(due.at == .noon(9000) && due.due == .noon(9000) && due.content == booking.content)
    #expect(due.tries == 0 && due.lastCode == nil)
    #expect(try await store.dueAppointments(at: .noon(8999), most: 9).isEmpty)
    #expect(try await store.takenPlaces(in: old...new) == [new: 1])
    // The old time is free again, and the new one is not.
    #expect(try await store.book(.made(for: 9000), at: .noon(31)) == .duplicate(booking.id))
    #expect(try await store.book(.made(), at: .noon(31)) == .booked)
    // The key and the record stay as long as the new time requires.
    try await store.purge(at: .noon(3600 + 210 + 3600 + 86_400))
    #expect(try await store.book(.made(key: "k"), at: .noon(12_809)) == .replay(moved))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a move is refused as a booking would be, its own place and number aside`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = Booking.made(perSlot: 1, perNumber: 1)
    let other = Booking.made("+14155550166", for: 9000, perSlot: 1)
    #expect(try await store.book(booking, at: .noon()) == .booked)
    #expect(try await store.book(other, at: .noon()) == .booked)
    func move(_ seconds: Double, perNumber: Int = 1) async throws -> MoveResult {
      try await store.move(
        .made(for: seconds, moving: booking.id, perSlot: 1, perNumber: perNumber), at: .noon(1))
    }
    let before = try await store.scheduledAppointment(booking.id)
    #expect(try await move(9001) == .full)
    #expect(try await store.scheduledAppointment(booking.id) == before)
    #expect(try await move(3601).moved?.at == .noon(3601))
    #expect(try await move(3601).moved?.at == .noon(3601), "its own dedupe entry aside")
    let second = Booking.made(for: 12_600)
    #expect(try await store.book(second, at: .noon(1)) == .booked)
    #expect(try await move(12_600, perNumber: 9) == .duplicate(second.id))
    #expect(try await move(5400) == .duplicate(second.id), "the number has more than it may")
    #expect(try await move(5400, perNumber: 2).moved?.at == .noon(5400))
    #expect(try await store.move(.made(moving: CallbackID(at: .noon())), at: .noon(1)) == .missing)
    let immediate = CallbackIntent.made("+14155550167")
    #expect(try await store.begin(immediate, at: .noon(1)) == .begun)
    #expect(try await store.move(.made(moving: immediate.id), at: .noon(1)) == .missing)
    #expect(try await store.mark(booking.id, for: .noon(5400), deadline: .noon(5430)))
    guard case .tooLate(let late) = try await move(7200) else { return #expect(Bool(false)) }
    #expect(late.status == .pending && late.at == .noon(5400))
    await store.close()
  }

  // MARK: Lists

  @Test(arguments: StoreKind.available)
  func `an owner sees its own scheduled appointments, the soonest first`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    var own: [Booking] = []
    for (place, seconds) in [7000.0, 3600, 5000, 9000, 8000].enumerated() {
      let booking = Booking.made(for: seconds, subject: "user", at: .noon(Double(place)))
      #expect(try await store.book(booking, at: .noon(Double(place))) == .booked)
      own.append(booking)
    }
    let callers = Booking.made(for: 4000)
    let others = [
      callers, .made(for: 4000, subject: "other"), .made(for: 4000, caller: "partner", subject: "user"),
    ]
    for booking in others { #expect(try await store.book(booking, at: .noon()) == .booked) }
    func list(_ caller: String, _ subject: String, _ most: Int = 100) async throws -> [CallbackID] {
      try await store.appointments(of: caller, subject: subject, most: most).map(\.id)
    }
    let soonest = [1, 2, 0, 4, 3].map { own[$0].id }
    #expect(try await list("ios-app", "user") == soonest)
    #expect(try await list("ios-app", "user", 2) == Array(soonest.prefix(2)))
    // A caller without users is its own subject.
    #expect(try await list("ios-app", "ios-app") == [callers.id])
    #expect(try await list("partner", "partner").isEmpty)
    #expect(try await list("ios-app", "").isEmpty)
    _ = try await store.end(soonest[0], .cancelled, at: .noon(9))
    #expect(try await store.mark(soonest[1], for: .noon(5000), deadline: .noon(5030)))
    #expect(try await list("ios-app", "user") == Array(soonest.dropFirst(2)))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `owners are told apart by their octets`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for twins in equivalentNames {
      var booked: [CallbackID] = []
      for (place, subject) in twins.enumerated() {
        // The same number and time: a duplicate only for the same owner.
        let booking = Booking.made(for: 4000, subject: subject, at: .noon(Double(place)))
        #expect(try await store.book(booking, at: .noon()) == .booked)
        booked.append(booking.id)
      }
      for (subject, id) in zip(twins, booked) {
        let seen = try await store.appointments(of: "ios-app", subject: subject, most: 10)
        #expect(seen.map(\.id) == [id])
        #expect(twins.filter { seen[0].belongs(to: $0) }.map { Array($0.utf8) } == [Array(subject.utf8)])
      }
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the earliest due come first, and all records asked for are found`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    var ids: [CallbackID] = []
    for (place, seconds) in [30.0, 10, 20, 40].enumerated() {
      let booking = Booking.made("+1415555016\(place)", for: seconds)
      #expect(try await store.book(booking, at: .noon()) == .booked)
      ids.append(booking.id)
    }
    #expect(try await store.mark(ids[1], for: .noon(10), deadline: .noon(40)))
    #expect(try await store.postpone(ids[1], until: .noon(25), code: nil))
    func due(_ most: Int) async throws -> [CallbackID] {
      try await store.dueAppointments(at: .noon(30), most: most).map(\.record.id)
    }
    #expect(try await due(9) == [ids[2], ids[1], ids[0]])
    #expect(try await due(2) == [ids[2], ids[1]])
    #expect(try await store.mark(ids[2], for: .noon(20), deadline: .noon(50)))
    #expect(try await due(9) == [ids[1], ids[0]])
    let overdue = try await store.appointmentCounts(dueBefore: .noon(30))
    #expect(overdue == AppointmentCounts(scheduled: 3, pending: 1, overdue: 1))
    #expect(
      try await store.appointmentCounts(dueBefore: .noon()) == AppointmentCounts(scheduled: 3, pending: 1))
    // A pending immediate call is not an appointment.
    let immediate = CallbackIntent.made("+14155550169")
    #expect(try await store.begin(immediate, at: .noon()) == .begun)
    #expect(
      try await store.appointmentCounts(dueBefore: .noon()) == AppointmentCounts(scheduled: 3, pending: 1))
    let asked = Set(ids.dropLast() + [immediate.id, CallbackID(at: .noon())])
    let found = try await store.callbacks(asked)
    #expect(found.count == 4 && Set(found.map(\.id)) == asked.intersection(ids + [immediate.id]))
    #expect(found.first { $0.id == ids[2] }?.status == .pending)
    #expect(try await store.callbacks([]).isEmpty)
    await store.close()
  }
}
