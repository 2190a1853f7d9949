// How an SQLite session reads, recovers and deletes callback records.

import Gate
import Store

extension SQLiteSession {
  func standing(of intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackStanding {
    var book = CallbackBook()
    var names: CallbackNames?
    try use { open throws(StoreError) in
      let statements = try open.prepared()
      let made = statements.ids.names(of: intent)
      names = made
      book = CallbackBook()
      // Another process may write in between. Whoever has the place before and after the key is looked at had it then,
      // too: where the key is free, it is not his.
      var before = CallbackBook()
      if let place = made.place { try statements.callbacks.read(place: place, into: &before) }
      if let key = made.key { try statements.callbacks.read(key: key, into: &book) }
      if let place = made.place { try statements.callbacks.read(place: place, into: &book) }
      if let place = made.place, before.places[place] != book.places[place] { book.forget(place: place) }
    }
    guard let names else { preconditionFailure("the transaction succeeded without running its body") }
    return book.standing(of: names, at: now)
  }

  func callback(_ id: CallbackID, of callerID: String) throws(StoreError) -> StoredCallback? {
    var record: StoredCallback?
    try use { open throws(StoreError) in record = try open.prepared().callbacks.row(id)?.record }
    return record?.callerID == callerID ? record : nil
  }

  func callbacks(_ query: CallbackQuery) throws(StoreError) -> [StoredCallback] {
    var records: [StoredCallback] = []
    try use { open throws(StoreError) in
      _ = try open.prepared()
      records = try SQLiteCallbacks.records(query, open.connection)
    }
    return records
  }

  func recover(at now: Instant, besides inHand: Set<CallbackID>) throws(StoreError) -> Int {
    var gone: [Int64] = []
    var abandoned: [CallbackID] = []
    try use { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      try instance.stayAlive(path)
      gone = []
      for other in try callbacks.pendingInstances() {
        // A number is never taken again: an instance that is gone now is gone for good.
        if try !instance.isAlive(other) { gone.append(other) }
      }
      abandoned = try callbacks.abandoned(instance.number, at: now.nanosecondsSinceEpoch)
        .filter { !inHand.contains($0) }
    }
    // Nearly always: nothing is written, so nobody waits for the disk.
    guard !gone.isEmpty || !abandoned.isEmpty else { return 0 }
    var count = 0
    try transaction { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      count = 0
      for instance in gone {
        try callbacks.abandon(instance, at: now)
        count += open.connection.changes
      }
      for id in abandoned {
        try callbacks.abandon(id, at: now)
        count += open.connection.changes
      }
      return count > 0
    }
    return count
  }

  /// The statement that forgets a bounded number of what is over in one of the tables.
  static func purge(_ table: CallbackTable) -> String {
    switch table {
    case .places:
      """
      DELETE FROM callgate_callback_place WHERE id IN (
        SELECT id FROM callgate_callback_place WHERE expires <= ? LIMIT ?)
      """
    case .keys:
      """
      DELETE FROM callgate_callback_key WHERE id IN (
        SELECT kept.id FROM callgate_callback_key AS kept WHERE kept.expires <= ? AND NOT EXISTS (
          SELECT 1 FROM callgate_callback WHERE id = kept.callback AND status = 'pending') LIMIT ?)
      """
    case .codes:
      """
      UPDATE callgate_callback SET verification_code = NULL, verification_key = NULL, verification_until = NULL
      WHERE id IN (
        SELECT id FROM callgate_callback
        WHERE verification_key IS NOT NULL AND verification_until <= ? AND status <> 'pending' LIMIT ?)
      """
    case .records:
      """
      DELETE FROM callgate_callback WHERE id IN (
        SELECT id FROM callgate_callback WHERE expires <= ? AND status <> 'pending' LIMIT ?)
      """
    }
  }

  /// Forgets a bounded number of what is over in one of the tables.
  func purge(_ table: CallbackTable, at now: Instant, most: Int64) throws(StoreError) -> Int {
    var removed = 0
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(open.connection, Self.purge(table)).run([
        .integer(now.nanosecondsSinceEpoch), .integer(most),
      ])
      removed = open.connection.changes
      return removed > 0
    }
    return removed
  }
}
