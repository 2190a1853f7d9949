// Callback records in memory, which are lost when the process ends.

import Gate
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

  mutating func begin(_ intent: CallbackIntent, at now: Instant) -> CallbackBeginning {
    let beginning = book.begin(intent, ids.names(of: intent), instance: 0, at: now)
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

  mutating func settle(_ id: CallbackID, _ settlement: CallbackSettlement) -> StoredCallback? {
    let settled = book.settle(id, settlement)
    expireCode(of: id)
    book.written()
    forgetIdle()
    return settled
  }

  mutating func withdraw(_ id: CallbackID) {
    _ = book.withdraw(id)
    book.written()
    forgetIdle()
  }

  /// Has the code of a callback that has ended removed at its time.
  private mutating func expireCode(of id: CallbackID) {
    guard let row = book.rows[id], row.record.status != .pending, let code = row.record.verificationCode
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

  mutating func recover(at now: Instant, besides inHand: Set<CallbackID>) -> Int {
    var count = 0
    var held: [CallbackID] = []
    while let id = abandoned.removeDue(at: now.nanosecondsSinceEpoch) {
      guard !inHand.contains(id) else {
        held.append(id)
        continue
      }
      guard book.abandon(id, at: now) else { continue }
      expireCode(of: id)
      count += 1
    }
    for id in held { abandoned.add(id, now.nanosecondsSinceEpoch) }
    book.written()
    return count
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
    book.rows.values.compactMap { row in
      row.record.verificationCode.flatMap { $0.key == key.bytes ? $0.until : nil }
    }.max()
  }

  /// Replaces the codes that a key has sealed.
  mutating func reseal(_ key: StoreKeyID, _ seal: (SealedValue) -> [UInt8]?) -> Int {
    let sealed = book.rows.values.compactMap { row in
      row.record.verificationCode.flatMap { $0.key == key.bytes ? (row.record.id, $0) : nil }
    }
    for (id, code) in sealed {
      let value = SealedValue(id: id.bytes, sealed: code.sealed)
      book.reseal(id, seal(value).map { SealedCode($0, until: code.until) })
      expireCode(of: id)
    }
    return sealed.count
  }

  private func isPending(_ item: Item) -> Bool {
    let id: CallbackID? =
      switch item {
      case .key(let name): book.keys[name]?.callback
      case .place, .code: nil
      case .row(let id): id
      }
    return id.flatMap { book.rows[$0] }?.record.status == .pending
  }
}
