// Tests of the notices of callbacks that every store must pass.

import Gate
import JOSE
import Store
import Testing

@Suite struct NoticeContractTests {
  private static let news = Instant.noon(-9000)...Instant.noon(99_999)

  private static func digest(_ name: String) -> SHA256Digest { SHA256Digest(of: Array(name.utf8)) }

  /// A store with two installations and their devices.
  private static func prepared(_ kind: StoreKind) async throws -> (StoreFixture, any Store) {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    for (number, platform) in [(1, "http"), (2, "fcm")] {
      try await store.putInstallation(number)
      try await store.registerDevice(
        StoredDevice(
          installation: .numbered(number), platform: platform, token: "token-\(number)", registered: .noon()))
    }
    return (fixture, store)
  }

  private static func booking(
    _ number: Int = 1, for seconds: Double = 3600, moving id: CallbackID? = nil, code: [UInt8]? = nil,
    asked: Double? = 3480
  ) -> Booking {
    var booking = Booking.made("+1415555016\(number)", for: seconds, moving: id, code: code)
    var intent = booking.intent
    intent.notifies = .numbered(number)
    booking = Booking(
      intent: intent, at: booking.at, slot: booking.slot, content: booking.content, limits: booking.limits)
    booking.confirmAt = asked.map { .noon($0) }
    return booking
  }

  private static func due(
    _ store: any Store, _ seconds: Double, on platform: String = "http", since: Double = -9000, most: Int = 9
  ) async throws -> [DueNotice] {
    let times = Instant.noon(since)...Instant.noon(seconds)
    return try await store.dueNotices(on: platform, questions: times, news: times, most: most)
  }

  private static func take(
    _ store: any Store, _ notice: DueNotice, _ name: String = "a", until lease: Double
  ) async throws -> Bool {
    try await store.takeNotice(notice, id: digest(name), until: .noon(lease), at: .noon(3480))
  }

  @Test(arguments: StoreKind.available)
  func `the question before an appointment is due at its time, for the device of its installation`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let (first, second) = (Self.booking(1, code: [1]), Self.booking(2))
    #expect(try await store.book(first, at: .noon()) == .booked)
    #expect(try await store.book(second, at: .noon()) == .booked)
    #expect(try await store.book(.made("+14155550199"), at: .noon()) == .booked)
    #expect(try await Self.due(store, 3479.999).isEmpty)
    let found = try await Self.due(store, 3480)
    #expect(found.map(\.record.id) == [first.id])
    let notice = try #require(found.first)
    #expect(notice.action == .confirmWithCode && notice.serial == 1 && notice.tries == 0)
    #expect(notice.due == .noon(3480) && notice.ends == .noon(3600))
    #expect(notice.device?.token == "token-1" && notice.platform == "http")
    #expect(notice.record.notices?.installation == .numbered(1))
    #expect(notice.record.notices?.confirmAt == .noon(3480))
    let other = try #require(try await Self.due(store, 3480, on: "fcm").first)
    #expect(other.record.id == second.id && other.action == .confirm)
    #expect(try await Self.due(store, 3480, most: 0).isEmpty)
    #expect(try await Self.due(store, 3490, since: 3480).map(\.record.id) == [first.id])
    #expect(try await Self.due(store, 3490, since: 3480.001).isEmpty)
    // Without a device the customer cannot be asked.
    try await store.removeDevice(of: .numbered(1))
    #expect(try await Self.due(store, 3500).isEmpty)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of many instances one takes a notice, and another one after the lease`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let notice = try #require(try await Self.due(store, 3480).first)
    let stores = [store, fixture.open(), fixture.open()]
    let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<12 {
        group.addTask { try await Self.take(stores[number % 3], notice, until: 3500) }
      }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(taken == 1)
    #expect(try await Self.due(store, 3499).isEmpty)
    let again = try #require(try await Self.due(store, 3500).first)
    #expect(again.due == .noon(3500) && again.tries == 0)
    #expect(try await Self.take(store, again, until: 3520))
    try await store.settleNotice(again, .taken)
    #expect(try await Self.due(store, 3599).isEmpty)
    #expect(try await store.callback(booking.id, of: "ios-app")?.notices?.state == .taken)
    // The instance that lost its lease can no longer change the state.
    try await store.settleNotice(notice, .dropped)
    #expect(try await store.callback(booking.id, of: "ios-app")?.notices?.state == .taken)
    let found = try #require(try await stores[1].notice(Self.digest("a")))
    #expect(found.notice.callback == booking.id && found.notice.installation == .numbered(1))
    #expect(found.notice.created == .noon(3480) && found.isLive)
    #expect(try await store.notice(Self.digest("b")) == nil)
    for store in stores { await store.close() }
  }

  @Test(arguments: StoreKind.available)
  func `a notice waits for another try, or is given up`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let notice = try #require(try await Self.due(store, 3480).first)
    #expect(try await Self.take(store, notice, until: 3500))
    try await store.settleNotice(notice, .again(at: .noon(3485), tries: 1))
    #expect(try await Self.due(store, 3484).isEmpty)
    let again = try #require(try await Self.due(store, 3485).first)
    #expect(again.tries == 1)
    try await store.settleNotice(again, .dropped)
    #expect(try await Self.due(store, 3599).isEmpty)
    #expect(try await store.callback(booking.id, of: "ios-app")?.notices?.state == .dropped)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `another time spends the notice, and begins the next one`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let notice = try #require(try await Self.due(store, 3480).first)
    #expect(try await Self.take(store, notice, until: 3500))
    let moved = try await store.move(
      Self.booking(for: 7200, moving: booking.id, asked: 7080), at: .noon(3481)
    ).moved
    #expect(moved?.notices?.serial == 2 && moved?.notices?.confirmAt == .noon(7080))
    #expect(try await store.notice(Self.digest("a"))?.isLive == false)
    // The outcome of the old notification no longer matters.
    try await store.settleNotice(notice, .dropped)
    #expect(try await Self.due(store, 7079).isEmpty)
    let next = try #require(try await Self.due(store, 7080).first)
    #expect(next.serial == 2 && next.ends == .noon(7200))
    #expect(try await Self.take(store, next, "b", until: 7100))
    #expect(try await store.notice(Self.digest("b"))?.isLive == true)
    #expect(try await !Self.take(store, notice, "c", until: 7100))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `one of many answers to a notice gives the appointment another time`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let snooze = Rescheduling(
      id: booking.id, serial: 1, from: booking.at, at: .noon(3900), confirmAt: .noon(3780),
      deadline: .noon(4100),
      mostSnoozes: 1)
    let results = try await withThrowingTaskGroup(of: ReschedulingResult.self) { group in
      for _ in 0..<8 { group.addTask { try await store.reschedule(snooze, at: .noon(3490)) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let changed = results.compactMap { if case .rescheduled(let record) = $0 { record } else { nil } }
    #expect(changed.count == 1)
    let record = try #require(changed.first)
    #expect(record.at == .noon(3900) && record.notices?.serial == 2 && record.snoozes == 1)
    #expect(try await store.scheduledAppointment(booking.id)?.due == .noon(3900))
    // The snoozed appointment takes no place in a slot.
    #expect(try await store.takenPlaces(in: 0...Int64.max / 2).isEmpty)
    #expect(try await Self.due(store, 3780).first?.serial == 2)
    // That was the last snooze. Connecting at once does not count as a snooze.
    let more = Rescheduling(
      id: booking.id, serial: 2, from: .noon(3900), at: .noon(4200), confirmAt: nil, deadline: .noon(4400),
      mostSnoozes: 1)
    #expect(try await store.reschedule(more, at: .noon(3790)) == .tooLate(record))
    let connect = Rescheduling(
      id: booking.id, serial: 2, from: .noon(3900), at: .noon(3790), confirmAt: nil, deadline: .noon(3990),
      mostSnoozes: nil)
    guard case .rescheduled(let now) = try await store.reschedule(connect, at: .noon(3790)) else {
      return #expect(Bool(false))
    }
    #expect(now.at == .noon(3790) && now.notices?.serial == 3 && now.snoozes == 1)
    #expect(try await Self.due(store, 3791).isEmpty)
    #expect(try await store.mark(booking.id, for: .noon(3790), deadline: .noon(3820)))
    guard case .tooLate = try await store.reschedule(connect, at: .noon(3791)) else {
      return #expect(Bool(false))
    }
    let unknown = Rescheduling(
      id: CallbackID(at: .noon()), serial: 1, from: .noon(), at: .noon(), confirmAt: nil, deadline: .noon(),
      mostSnoozes: nil)
    #expect(try await store.reschedule(unknown, at: .noon()) == .missing)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an answer to a notice that was answered ends nothing, and a call that keeps its time keeps its place`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let connect = Rescheduling(
      id: booking.id, serial: 1, from: booking.at, at: booking.at, confirmAt: nil, deadline: .noon(3800),
      mostSnoozes: nil)
    guard case .rescheduled(let record) = try await store.reschedule(connect, at: .noon(3490)) else {
      return #expect(Bool(false))
    }
    #expect(record.at == booking.at && record.notices?.serial == 2)
    #expect(try await store.takenPlaces(in: 0...Int64.max / 2).values.reduce(0, +) == 1)
    #expect(try await store.end(booking.id, .declined(serial: 1), at: .noon(3491)) == .unchanged(record))
    guard case .ended(let ended, _) = try await store.end(booking.id, .declined(serial: 2), at: .noon(3492))
    else {
      return #expect(Bool(false))
    }
    #expect(ended.status == .cancelled)
    #expect(try await store.takenPlaces(in: 0...Int64.max / 2).isEmpty)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an appointment from before there were notices gets them when it is moved`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let old = Booking.made("+14155550161", for: 3600)
    #expect(try await store.book(old, at: .noon()) == .booked)
    guard
      case .moved(let record) = try await store.move(
        Self.booking(for: 7200, moving: old.id, asked: 7080), at: .noon(1))
    else { return #expect(Bool(false)) }
    #expect(record.notices?.installation == .numbered(1))
    #expect(try await Self.due(store, 7080).map(\.record.id) == [old.id])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `each end is told by a notice after a second, unless the app was told`(_ kind: StoreKind) async throws
  {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking(1, asked: nil)
    #expect(try await store.book(booking, at: .noon()) == .booked)
    var intent = CallbackIntent.made("+14155550171")
    intent.notifies = .numbered(1)
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await Self.due(store, 3599).isEmpty)
    // An app that asks too early has read no result yet.
    try await store.told(intent.id)
    try await store.told(booking.id)
    try await store.settle(intent.id, .accepted(at: .noon(1)))
    #expect(try await store.end(booking.id, .expired(due: .noon(3600)), at: .noon(3600)).ended != nil)
    #expect(try await Self.due(store, 1.999).isEmpty)
    let news = try await Self.due(store, 3601)
    #expect(news.map(\.action) == [.changed, .expired])
    #expect(news.map(\.due) == [.noon(2), .noon(3601)] && news.map(\.ends) == [.noon(3601), .noon(7200)])
    // News from before `since` is not sent.
    #expect(try await Self.due(store, 3601, since: 2.001).map(\.action) == [.expired])
    try await store.told(intent.id)
    #expect(try await store.callback(intent.id, of: "ios-app")?.notices?.state == .told)
    #expect(try await store.callback(intent.id, of: "ios-app")?.waitsToBeTold == false)
    let expired = try #require(try await Self.due(store, 3601).first)
    #expect(expired.record.id == booking.id && expired.record.waitsToBeTold)
    #expect(try await Self.take(store, expired, until: 3620))
    // The app reads the result while its notification is on its way.
    try await store.told(booking.id)
    try await store.settleNotice(expired, .again(at: .noon(3610), tries: 1))
    #expect(try await Self.due(store, 3700).isEmpty)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `what recovery ends is told too, and again if the outcome comes`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    var intent = CallbackIntent.made("+14155550171")
    intent.notifies = .numbered(1)
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await store.recoverCallbacks(at: .noon(100)).callbacks == 1)
    let notice = try #require(try await Self.due(store, 101).first)
    #expect(notice.action == .changed && notice.due == .noon(101))
    #expect(try await Self.take(store, notice, until: 120))
    try await store.settle(intent.id, .accepted(at: .noon(110)))
    // The provider's answer to the first notice came late.
    try await store.settleNotice(notice, .taken)
    let correction = try #require(try await Self.due(store, 111).first)
    #expect(correction.due == .noon(111) && correction.serial == notice.serial + 1)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an outcome that is saved as told has no notice, unless recovery came first`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    var told = CallbackSettlement.accepted(at: .noon(1))
    told.isTold = true
    var ids: [CallbackID] = []
    for number in 1...3 {
      var intent = CallbackIntent.made("+1415555017\(number)")
      intent.notifies = .numbered(1)
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      ids.append(intent.id)
    }
    try await store.settle(ids[0], told)
    #expect(try await store.callback(ids[0], of: "ios-app")?.notices?.state == .told)
    // The second settlement repeats the first, whose commit was in doubt.
    try await store.settle(ids[1], .accepted(at: .noon(1)))
    #expect(try await Self.due(store, 3).map(\.record.id) == [ids[1]])
    try await store.settle(ids[1], told)
    #expect(try await Self.due(store, 3).isEmpty)
    // The app may have read what the recovery wrote, so it needs a correction.
    #expect(try await store.recoverCallbacks(at: .noon(100)).callbacks == 1)
    told = .accepted(at: .noon(110))
    told.isTold = true
    try await store.settle(ids[2], told)
    #expect(try await Self.due(store, 111).map(\.record.id) == [ids[2]])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `notices are forgotten after a day`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let notice = try #require(try await Self.due(store, 3480).first)
    #expect(try await Self.take(store, notice, until: 3500))
    try await store.purge(at: .noon(3480 + 86_399))
    #expect(try await store.notice(Self.digest("a")) != nil)
    try await store.purge(at: .noon(3480 + 86_400))
    #expect(try await store.notice(Self.digest("a")) == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a callback without an installation has no notices`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let intent = CallbackIntent.made()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    try await store.settle(intent.id, .accepted())
    #expect(try await store.callback(intent.id, of: "ios-app")?.notices == nil)
    try await store.told(intent.id)
    #expect(try await store.callback(intent.id, of: "ios-app")?.notices == nil)
    #expect(try await Self.due(store, 99_999).isEmpty)
    await store.close()
  }
}
