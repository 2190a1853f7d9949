// How an SQLite session reads, recovers and deletes callback records.

package import Gate
package import Store

extension SQLiteSession {
  package func standing(of intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackStanding {
    var book = CallbackBook()
    var names: CallbackNames?
    try use { open throws(StoreError) in
      let statements = try open.prepared()
      let made = statements.ids.names(of: intent)
      names = made
      book = CallbackBook()
      // Another process may write between two reads. So read the dedupe entry before and after the key. If the entry did not change,
      // it was the same when the key was read: if the key is free, the entry belongs to another request.
      var before = CallbackBook()
      if let place = made.place { try statements.callbacks.read(place: place, into: &before) }
      if let key = made.key { try statements.callbacks.read(key: key, into: &book) }
      if let place = made.place { try statements.callbacks.read(place: place, into: &book) }
      if let place = made.place, before.places[place] != book.places[place] { book.forget(place: place) }
      try statements.callbacks.read(former: made.former, into: &book)
    }
    guard let names else { preconditionFailure("the transaction succeeded without running its body") }
    return book.standing(of: names, at: now)
  }

  package func callback(_ id: CallbackID, of callerID: String) throws(StoreError) -> StoredCallback? {
    var record: StoredCallback?
    try use { open throws(StoreError) in record = try open.prepared().callbacks.row(id)?.record }
    return record.flatMap { $0.isOwned(by: callerID) ? $0 : nil }
  }

  package func callbacks(_ query: CallbackQuery) throws(StoreError) -> [StoredCallback] {
    var records: [StoredCallback] = []
    try use { open throws(StoreError) in
      _ = try open.prepared()
      records = try SQLiteCallbacks.records(query, open.connection)
    }
    return records
  }

  package func recover(at now: Instant, besides inHand: Set<CallbackID>) throws(StoreError)
    -> RecoveredRecords
  {
    var gone: [Int64] = []
    var hasLate = false
    try use { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      try instance.stayAlive(path)
      gone = []
      for other in try callbacks.pendingInstances() {
        // A number is never taken again: an instance that is gone now is gone for good.
        if try !instance.isAlive(other) { gone.append(other) }
      }
      hasLate = try callbacks.abandoned(instance.number, at: now.nanosecondsSinceEpoch)
        .contains { !inHand.contains($0) }
    }
    // The usual case: nothing is written, so no job waits for the disk.
    guard !gone.isEmpty || hasLate else { return RecoveredRecords() }
    var recovered = RecoveredRecords()
    try transaction { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      recovered = RecoveredRecords()
      // Looked up again: another process may have written meanwhile.
      var abandoned = try callbacks.abandoned(instance.number, at: now.nanosecondsSinceEpoch)
        .filter { !inHand.contains($0) }
      for instance in gone { abandoned += try callbacks.abandoned(instance, at: .max) }
      var book = CallbackBook()
      for id in abandoned {
        guard let row = try callbacks.row(id) else { continue }
        book.add(row)
        if let key = row.key { try callbacks.read(key: key, into: &book) }
        book.abandon(id, at: now, countingIn: &recovered)
      }
      try callbacks.write(book)
      return !recovered.isEmpty
    }
    return recovered
  }

  // MARK: Appointments

  package func dueAppointments(at time: Instant, most: Int) throws(StoreError) -> [DueAppointment] {
    try read { connection throws(StoreError) in
      try SQLiteCallbacks.due(at: time, most: most, connection)
    }
  }

  package func appointmentsWithoutOrigin(most: Int) throws(StoreError) -> [DueAppointment] {
    try read { connection throws(StoreError) in try SQLiteCallbacks.withoutOrigin(most: most, connection) }
  }

  package func scheduledAppointment(_ id: CallbackID) throws(StoreError) -> DueAppointment? {
    var found: DueAppointment?
    try use { open throws(StoreError) in found = try open.prepared().callbacks.row(id)?.dueAppointment }
    return found
  }

  package func appointments(of callerID: String, subject: String, most: Int) throws(StoreError)
    -> [StoredCallback]
  {
    try read { connection throws(StoreError) in
      try SQLiteCallbacks.appointments(of: callerID, subject: subject, most: most, connection)
    }
  }

  package func callbacks(_ query: AliasQuery) throws(StoreError) -> [StoredCallback] {
    try read { connection throws(StoreError) in try SQLiteCallbacks.records(query, connection) }
  }

  package func takenPlaces(in slots: ClosedRange<Int64>) throws(StoreError) -> [Int64: Int] {
    try read { connection throws(StoreError) in try SQLiteCallbacks.takenPlaces(in: slots, connection) }
  }

  package func callbacks(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback] {
    var records: [StoredCallback] = []
    try use { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      records = []
      for id in ids { if let row = try callbacks.row(id) { records.append(row.record) } }
    }
    return records
  }

  package func appointmentCounts(dueBefore time: Instant) throws(StoreError) -> AppointmentCounts {
    try read { connection throws(StoreError) in try SQLiteCallbacks.counts(dueBefore: time, connection) }
  }

  private func read<Result>(
    _ body: (SQLiteConnection) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var result: Result?
    try use { open throws(StoreError) in
      _ = try open.prepared()
      result = try body(open.connection)
    }
    guard let result else { preconditionFailure("the transaction succeeded without running its body") }
    return result
  }

  // MARK: Forgetting

  /// The statement that deletes a bounded number of expired rows of one table.
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
          SELECT 1 FROM callgate_callback WHERE id = kept.callback AND status IN ('scheduled', 'pending')) LIMIT ?)
      """
    case .codes:
      """
      UPDATE callgate_callback SET verification_code = NULL, verification_key = NULL, verification_until = NULL
      WHERE id IN (
        SELECT id FROM callgate_callback
        WHERE verification_key IS NOT NULL AND verification_until <= ? AND status NOT IN ('scheduled', 'pending')
        LIMIT ?)
      """
    case .contents:
      """
      UPDATE callgate_callback SET content = NULL, content_key = NULL, content_until = NULL
      WHERE id IN (
        SELECT id FROM callgate_callback
        WHERE content_key IS NOT NULL AND content_until <= ? AND status NOT IN ('scheduled', 'pending') LIMIT ?)
      """
    case .records:
      """
      DELETE FROM callgate_callback WHERE id IN (
        SELECT id FROM callgate_callback WHERE expires <= ? AND status NOT IN ('scheduled', 'pending') LIMIT ?)
      """
    }
  }

  /// Deletes a bounded number of expired rows of one table.
  package func purge(_ table: CallbackTable, at now: Instant, most: Int) throws(StoreError) -> Int {
    var removed = 0
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(open.connection, Self.purge(table)).run([
        .integer(now.nanosecondsSinceEpoch), .integer(Int64(most)),
      ])
      removed = open.connection.changes
      return removed > 0
    }
    return removed
  }
}
