// Callback records in memory, which are lost when the process ends.

import Gate
import JOSE
import Sealing

/// All callbacks in one book, with queues by due time, so that recovering and purging do not scan everything.
struct MemoryCallbacks: Sendable {
  private enum Item: Sendable {
    case key(StoreID)
    case place(StoreID)
    case code(CallbackID)
    case row(CallbackID)
  }

  private var book = CallbackBook()
  private var abandoned = DueQueue<CallbackID>()
  private var expiring = DueQueue<Item>()
  /// The callbacks whose notices wait, and the notices that were taken.
  private var noticed: Set<CallbackID> = []
  private var notices: [SHA256Digest: StoredNotice] = [:]
  private let ids = StoreIDMaker(key: StoreIDMaker.newKey())

  func standing(of intent: CallbackIntent, at now: Instant) -> CallbackStanding {
    book.standing(of: ids.names(of: intent), at: now)
  }

  func record(_ id: CallbackID) -> StoredCallback? { book.rows[id]?.record }

  /// Looks at every record: this store is for one process, and for trying things out.
  func records(_ query: CallbackQuery) -> [StoredCallback] {
    let ids = book.rows.compactMap { id, row in
      id.id < query.bound && (query.status == nil || row.record.status == query.status) ? id : nil
    }
    return ids.sorted(by: >).prefix(query.limit).compactMap { book.rows[$0]?.record }
  }

  mutating func begin(
    _ intent: CallbackIntent, from states: [AllowanceState?], at now: Instant
  ) -> (CallbackBeginning, [AllowanceWrite]) {
    let beginning = book.begin(intent, ids.names(of: intent), instance: 0, from: states, at: now)
    for name in book.changes.keys { if let key = book.keys[name] { expiring.add(.key(name), key.expires) } }
    for name in book.changes.places {
      if let place = book.places[name] { expiring.add(.place(name), place.expires) }
    }
    for id in book.changes.rows {
      guard let row = book.rows[id] else { continue }
      expiring.add(.row(id), row.expires)
      abandoned.add(id, row.abandoned)
    }
    book.written()
    return beginning
  }

  // MARK: Appointments

  /// - Parameter living: The installation that books, if it was neither revoked nor replaced.
  mutating func book(
    _ booking: Booking, living: InstallationIdentity?, from states: [AllowanceState?], at now: Instant
  ) -> (BookingResult, [AllowanceWrite]) {
    book.living = living.map { [$0] } ?? []
    let result = book.book(booking, ids.names(of: booking), instance: 0, from: states, at: now)
    written()
    return result
  }

  mutating func move(_ booking: Booking, at now: Instant) -> MoveResult {
    let result = book.move(booking, ids.names(of: booking), at: now)
    written()
    return result
  }

  mutating func rewrite(_ id: CallbackID, _ old: [UInt8], _ new: [UInt8]) -> Bool {
    defer { written() }
    return book.rewrite(id, old, new)
  }

  /// Looks at every record, as `records` of an operator's query does.
  func records(_ query: AliasQuery) -> [StoredCallback] {
    let found = book.rows.values.map(\.record).filter { record in
      switch query {
      case .name(let name): record.alias?.name == name
      case .numbers(let numbers): record.alias.map { numbers.contains($0.number) } ?? false
      }
    }
    return Array(found.sorted { $0.id > $1.id }.prefix(AliasQuery.most))
  }

  mutating func mark(_ id: CallbackID, for due: Instant, deadline: Instant) -> Bool {
    let isMarked = book.mark(id, for: due, deadline: deadline, instance: 0)
    if isMarked, let row = book.rows[id] { abandoned.add(id, row.abandoned) }
    book.written()
    return isMarked
  }

  mutating func postpone(_ id: CallbackID, until due: Instant, code: String?) -> Bool {
    let result = book.postpone(id, until: due, code: code, instance: 0)
    book.written()
    return result
  }

  mutating func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) -> EndResult {
    let result = book.end(id, ending, at: now)
    written()
    return result
  }

  mutating func succeed(_ succession: Succession, at now: Instant) -> [EndedAppointment] {
    let owner = succession.owner
    let ids = appointments(of: owner.callerID, subject: owner.subject, most: .max).map(\.id)
    defer { written() }
    return book.succeed(succession, ids, at: now)
  }

  func withoutOrigin(most: Int) -> [DueAppointment] {
    Array(open.filter { $0.record.origin == .unsaved }.compactMap(\.dueAppointment).prefix(most))
  }

  mutating func note(_ origin: CallbackOrigin, of id: CallbackID) {
    _ = book.note(origin, of: id)
    written()
  }

  func appointment(_ id: CallbackID) -> DueAppointment? { book.rows[id]?.dueAppointment }

  /// Looks at every appointment that is not over, as the next two do: this store is for one process, and for trying things out.
  func due(at time: Int64, most: Int) -> [DueAppointment] {
    let due = open.compactMap { $0.dueAppointment }.filter { $0.due.nanosecondsSinceEpoch <= time }
    return Array(due.sorted { $0.due < $1.due }.prefix(most))
  }

  func appointments(of callerID: String, subject: String, most: Int) -> [StoredCallback] {
    let own = open.map(\.record).filter {
      $0.status == .scheduled && $0.isOwned(by: callerID) && $0.belongs(to: subject)
    }
    return Array(own.sorted { ($0.at ?? $0.createdAt, $0.id) < ($1.at ?? $1.createdAt, $1.id) }.prefix(most))
  }

  func counts(dueBefore time: Instant) -> AppointmentCounts {
    open.reduce(into: AppointmentCounts()) { counts, row in
      if row.record.status == .scheduled { counts.scheduled += 1 } else { counts.pending += 1 }
      if let due = row.appointment?.due, due < time.nanosecondsSinceEpoch { counts.overdue += 1 }
    }
  }

  func taken(in range: ClosedRange<Int64>) -> [Int64: Int] { book.slots.filter { range.contains($0.key) } }

  private var open: [CallbackBook.Row] { book.numbers.values.joined().compactMap { book.rows[$0] } }

  /// Queues changed rows for their removal.
  private mutating func written() {
    for name in book.changes.keys { if let key = book.keys[name] { expiring.add(.key(name), key.expires) } }
    for name in book.changes.places {
      if let place = book.places[name] { expiring.add(.place(name), place.expires) }
    }
    for id in book.changes.rows {
      guard let row = book.rows[id] else { continue }
      expiring.add(.row(id), row.expires)
      expireCode(of: id)
      if row.record.notices?.next == nil { noticed.remove(id) } else { noticed.insert(id) }
    }
    for notice in book.changes.notices where notices[notice.id] == nil { notices[notice.id] = notice }
    book.written()
    forgetIdle()
  }

  // MARK: Notices

  /// The records whose notices are due, the earliest first.
  func noticed(questions: ClosedRange<Instant>, news: ClosedRange<Instant>) -> [StoredCallback] {
    let found = noticed.compactMap { id -> (next: Instant, record: StoredCallback)? in
      guard let record = book.rows[id]?.record, let next = record.notices?.next,
        (record.status.isFinal ? news : questions).contains(next)
      else { return nil }
      return (next, record)
    }
    return found.sorted { ($0.next, $0.record.id) < ($1.next, $1.record.id) }.map(\.record)
  }

  mutating func takeNotice(_ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant)
    -> Bool
  {
    defer { written() }
    return book.takeNotice(notice, id: id, until: lease, at: now)
  }

  mutating func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) {
    _ = book.settleNotice(notice, outcome)
    written()
  }

  mutating func reschedule(_ change: Rescheduling, at now: Instant) -> ReschedulingResult {
    defer { written() }
    return book.reschedule(change, at: now)
  }

  mutating func told(_ id: CallbackID) {
    _ = book.told(id)
    written()
  }

  func notice(_ id: SHA256Digest) -> FoundNotice? {
    notices[id].map { FoundNotice(notice: $0, record: $0.callback.flatMap { record($0) }) }
  }

  mutating func keep(_ notice: StoredNotice) { notices[notice.id] = notice }

  mutating func purgeNotices(madeUpTo time: Int64) -> Int {
    let count = notices.count
    notices = notices.filter { $0.value.created.nanosecondsSinceEpoch > time }
    noticed = noticed.filter { book.rows[$0] != nil }
    return count - notices.count
  }

  // MARK: Settling

  mutating func settle(
    _ id: CallbackID, _ settlement: CallbackSettlement, returningTo states: [AllowanceState?]
  ) -> (StoredCallback?, [AllowanceWrite]) {
    let writes = book.returns(of: id, settlement, to: states)
    let settled = book.settle(id, settlement)
    written()
    return (settled, writes)
  }

  mutating func withdraw(_ id: CallbackID) -> Bool {
    let isWithdrawn = book.withdraw(id)
    book.written()
    forgetIdle()
    return isWithdrawn
  }

  /// Has the code of a callback that has ended removed at its time.
  private mutating func expireCode(of id: CallbackID) {
    guard let row = book.rows[id], row.record.status.isFinal, let code = row.record.verificationCode
    else {
      return
    }
    expiring.add(.code(id), code.until.nanosecondsSinceEpoch)
  }

  /// Drops queue entries of removed callbacks before they outnumber the others, so that repeated withdrawals
  /// do not fill the memory.
  private mutating func forgetIdle() {
    guard expiring.count > 4096 + 2 * (book.keys.count + book.places.count + book.rows.count) else { return }
    expiring = DueQueue()
    for (name, key) in book.keys { expiring.add(.key(name), key.expires) }
    for (name, place) in book.places { expiring.add(.place(name), place.expires) }
    for (id, row) in book.rows {
      expiring.add(.row(id), row.expires)
      expireCode(of: id)
    }
  }

  /// How many things wait to be forgotten.
  var waiting: Int { expiring.count }

  mutating func recover(at now: Instant, besides inHand: Set<CallbackID>) -> RecoveredRecords {
    var recovered = RecoveredRecords()
    var held: [CallbackID] = []
    while let id = abandoned.removeDue(at: now.nanosecondsSinceEpoch) {
      guard !inHand.contains(id) else {
        held.append(id)
        continue
      }
      // One that was postponed, and perhaps marked again, has another time.
      if let row = book.rows[id], row.abandoned > now.nanosecondsSinceEpoch { continue }
      if book.abandon(id, at: now, countingIn: &recovered) { expireCode(of: id) }
    }
    for id in held { abandoned.add(id, now.nanosecondsSinceEpoch) }
    written()
    return recovered
  }

  /// Removes expired rows.
  mutating func purge(at now: Instant) -> Int {
    let time = now.nanosecondsSinceEpoch
    var count = 0
    // A callback that is pending after its time has not been recovered: the next time.
    var early: [Item] = []
    while let item = expiring.removeDue(at: time) {
      let isForgotten =
        switch item {
        case .key(let name): book.forgetKey(name, at: time)
        case .place(let name): book.forgetPlace(name, at: time)
        case .code(let id): book.forgetCode(id, at: time)
        case .row(let id): book.forgetRow(id, at: time)
        }
      if isForgotten { count += 1 } else if isPending(item) { early.append(item) }
    }
    for item in early { expiring.add(item, time) }
    return count
  }

  // MARK: Store keys

  /// When the last code that a key has sealed is forgotten.
  func sealedUntil(_ key: StoreKeyID) -> Instant? {
    book.rows.values.flatMap { row in
      [row.record.verificationCode, row.appointment?.content].compactMap(\.self)
    }.filter { $0.key == key.bytes }.map(\.until).max()
  }

  /// Whether a key has sealed an appointment that has not ended.
  func hasOpen(_ key: StoreKeyID) -> Bool { open.contains { $0.appointment?.content?.key == key.bytes } }

  /// Replaces the codes that a key has sealed.
  mutating func reseal(_ key: StoreKeyID, _ seal: (SealedValue) -> [UInt8]?) -> Int {
    let sealed = book.rows.values.compactMap { row in
      row.record.verificationCode.flatMap { $0.key == key.bytes ? (row.record.id, $0) : nil }
    }
    for (id, code) in sealed {
      let value = SealedValue(id: id.bytes, sealed: code.sealed, for: .sealing)
      book.reseal(id, seal(value).map { SealedCode($0, until: code.until) })
      expireCode(of: id)
    }
    let contents = book.rows.values.compactMap { row in
      row.appointment?.content.flatMap { $0.key == key.bytes ? (row.record.id, $0) : nil }
    }
    for (id, content) in contents {
      let value = SealedValue(id: id.bytes, sealed: content.sealed, for: .appointment)
      book.reseal(id, content: seal(value).map { SealedCode($0, until: content.until) })
    }
    return sealed.count + contents.count
  }

  private func isPending(_ item: Item) -> Bool {
    let id: CallbackID? =
      switch item {
      case .key(let name): book.keys[name]?.callback
      case .place, .code: nil
      case .row(let id): id
      }
    return id.flatMap { book.rows[$0] }?.record.status.isFinal == false
  }
}
