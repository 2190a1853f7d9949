// Reads, recovers and deletes callback records in a PostgreSQL session.

package import Gate
import JOSE
import Platform
package import Store

extension PostgresSession {
  package func standing(of intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackStanding {
    var book = CallbackBook()
    var names: CallbackNames?
    try use { connection throws(PostgresFailure) in
      let made = try self.maker(connection).names(of: intent)
      names = made
      book = CallbackBook()
      let key = made.key.map { PostgresCommand(CallbackStatements.key, [.id($0)]) }
      let place = made.place.map { PostgresCommand(CallbackStatements.place, [.id($0)]) }
      // Each command sees the rows that are committed when it runs. So read the dedupe entry before and after
      // the key. If the entry did not change, it was the same when the key was read: if the key is free, the
      // entry belongs to another request.
      let commands = [place, key, key == nil ? nil : place].compactMap(\.self)
      guard !commands.isEmpty else { return }
      let former = made.former.map { self.former(of: [$0]) }
      var found = try connection.run(commands + [former].compactMap(\.self), within: Self.span)
      if former != nil { try PostgresCallbacks.add(former: found.removeLast().rows, to: &book) }
      if key != nil, let row = found[place == nil ? 0 : 1].rows.first {
        let found = try row.read(CallbackStatements.key)
        book.add(found.row)
        book.add(found.key)
      }
      if place != nil, let row = found.last?.rows.first, row == found.first?.rows.first {
        book.add(try row.read(CallbackStatements.place))
      }
    }
    guard let names else { preconditionFailure("the transaction succeeded without running its body") }
    return book.standing(of: names, at: now)
  }

  /// The command that reads dedupe entries of an older release. No current release writes these, so they need
  /// no lock.
  private func former(of places: [FormerPlace]) -> PostgresCommand {
    .prepared(PostgresStatements.formerPlaces, [PostgresText.array(places.map(\.name.hex))])
  }

  package func hashes(of call: EndedCall) throws(StoreError) -> (numbers: StoreID, call: StoreID) {
    var hashes: (numbers: StoreID, call: StoreID)?
    try use { connection throws(PostgresFailure) in
      let maker = try self.maker(connection)
      hashes = (
        maker.numbers(contact: call.contact, talkdesk: call.talkdesk), maker.name(ofCall: call.id)
      )
    }
    guard let hashes else { preconditionFailure("the body has not run") }
    return hashes
  }

  /// Begins a transaction with its mark, then locks and adds its rows.
  ///
  /// The order of locks is: the numbers of calls, installations that book, keys, dedupe entries, records,
  /// allowances, each in the order of their ids. So transactions never wait in a circle. Slots and numbers
  /// are locked among the dedupe entries, by rows made for that. So bookings of one slot, or of one number,
  /// run one after the other, and each counts those before it.
  ///
  /// The session looks up the key and dedupe entry of a record first. A record's key never changes. Its
  /// dedupe entry changes with a move. If a move came in between, the session releases the locks and takes
  /// them again with the new entry, because to lock that entry last would break the order.
  /// - Parameter counts: Whether the transaction only counts. Then its commit does not wait for the disk. All
  ///   connections share one log, so the next commit that waits for the disk, on any connection, also writes
  ///   this one.
  func lock(
    _ working: inout WorkingSet, _ connection: PostgresConnection, _ mark: PostgresMark, counts: Bool
  ) throws(PostgresFailure) {
    let maker = try maker(connection)
    var keys = Set(working.begins.compactMap(\.key))
    var places = Set(working.begins.compactMap(\.place)).union(working.numbers)
    places.formUnion(working.slots.map { maker.name(ofSlot: $0) })
    let named = Array(keys)
    if !working.ending.isEmpty {
      let ids = PostgresText.array(working.ending.map(\.id.hex))
      let found = try connection.run([.prepared(PostgresStatements.rowsOfRecords, [ids])], within: Self.span)
      for row in found[0].rows {
        if let key = try row.optionalID(1) { keys.insert(key) }
        if let place = try row.optionalID(2) { places.insert(place) }
      }
    }
    let beginning: [PostgresCommand] =
      [.plain("BEGIN")] + (counts ? [.plain("SET LOCAL synchronous_commit = off")] : []) + [mark.command]
    while true {
      let late = try lock(
        &working, keys: keys, named: named, places: places, connection, beginning)
      if late.isEmpty { return }
      _ = try connection.run([.plain("ROLLBACK")], within: Self.span)
      places.formUnion(late)
    }
  }

  /// Locks rows and adds them to the working set. If records among them have other dedupe entries by now,
  /// returns those entries and adds nothing.
  private func lock(
    _ working: inout WorkingSet, keys: Set<StoreID>, named: [StoreID], places: Set<StoreID>,
    _ connection: PostgresConnection, _ beginning: [PostgresCommand]
  ) throws(PostgresFailure) -> Set<StoreID> {
    var commands = beginning
    func run(_ statement: PostgresStatement, _ parameters: [String?]) -> Int {
      commands.append(.prepared(statement, parameters))
      return commands.count - 1
    }
    func lock(_ ids: some Sequence<StoreID>, _ statement: PostgresStatement, _ more: [String] = []) -> Int {
      run(statement, [PostgresText.array(ids.sorted().map(\.hex))] + more)
    }
    if !working.lines.isEmpty { _ = lock(working.lines, PostgresStatements.lockLines) }
    let installationPlace =
      working.installations.isEmpty
      ? nil
      : run(
        PostgresStatements.lockInstallations,
        [PostgresText.array(Set(working.installations.map(\.id.id)).map(\.hex))])
    let keyPlace = keys.isEmpty ? nil : lock(keys, PostgresStatements.lockKeys)
    let placePlace = places.isEmpty ? nil : lock(places, PostgresStatements.lockPlaces)
    let rowPlace =
      working.callbacks.isEmpty
      ? nil
      : lock(
        working.callbacks.map(\.id), PostgresStatements.lockCallbacks, [PostgresText.array(named.map(\.hex))])
    let allowancePlace = working.allowances.isEmpty ? nil : lock(working.allowances, PostgresStatements.lock)
    // Read the time after the locks. Then the next transaction that gets a lock reads a later time, on any
    // instance.
    let timePlace = working.allowances.isEmpty ? nil : run(PostgresStatements.time, [])
    let slotPlace =
      working.slots.isEmpty
      ? nil : run(PostgresStatements.takenOfSlots, [PostgresText.array(working.slots.map { "\($0)" })])
    let numberPlace =
      working.numbers.isEmpty
      ? nil : run(PostgresStatements.ofNumbers, [PostgresText.array(working.numbers.map(\.hex))])
    let calls = commands.count
    commands += working.calls.map { PostgresCommand(CallbackStatements.ofCall, $0.parameters) }
    let former = working.begins.compactMap(\.former)
    if !former.isEmpty { commands.append(self.former(of: former)) }
    let found = try connection.run(commands, within: Self.span)
    let rows = try rowPlace.map { found[$0].rows }?.map(PostgresCallbacks.row) ?? []
    let late = rows.filter { working.ending.contains($0.record.id) }.compactMap(\.place)
    guard places.isSuperset(of: late) else { return Set(late) }
    if let installationPlace {
      for row in found[installationPlace].rows {
        working.book.living.insert(
          InstallationIdentity(InstallationID(try row.id(0)), generation: try row.integer(1)))
      }
    }
    if let keyPlace {
      for row in found[keyPlace].rows { working.book.add(try row.entry() as CallbackBook.NamedKey) }
    }
    if let placePlace {
      for row in found[placePlace].rows { working.book.add(try row.entry() as CallbackBook.NamedPlace) }
    }
    for row in rows { working.book.add(row) }
    // These rows were read after the locks. So one that is also locked is not newer here.
    for row in found[calls..<calls + working.calls.count].flatMap(\.rows) {
      let row = try PostgresCallbacks.row(row)
      if working.book.rows[row.record.id] == nil { working.book.add(row) }
    }
    if !former.isEmpty, let last = found.last {
      try PostgresCallbacks.add(former: last.rows, to: &working.book)
    }
    if let allowancePlace {
      for (id, state) in try Self.states(found[allowancePlace]) { working.add(id, state) }
    }
    if let timePlace {
      working.databaseTime = try found[timePlace].rows.first.map { row throws(PostgresFailure) in
        Instant(nanosecondsSinceEpoch: try row.integer(0) * 1000)
      }
    }
    if let slotPlace {
      try PostgresCallbacks.add(slots: found[slotPlace].rows, of: working.slots, to: &working.book)
    }
    if let numberPlace {
      try PostgresCallbacks.add(numbers: found[numberPlace].rows, of: working.numbers, to: &working.book)
    }
    return []
  }

  /// Locks the appointments of a revoked or replaced installation, in the open transaction, and ends them or
  /// moves them to the new installation.
  ///
  /// - Parameter receipts: Reads from the content of an ending appointment which allowances to give back. No
  ///   change of the content changes that.
  /// - Returns: The writes, and the appointments that end; nil if a move came in between, so that the
  ///   transaction must start again.
  func succeed(
    _ succession: Succession, at now: Instant, receipts: ReceiptReader, _ connection: PostgresConnection
  ) throws(PostgresFailure) -> (writes: [PostgresCommand], ended: [EndedAppointment])? {
    let (owner, installation) = (succession.owner, succession.installation)
    let found = try connection.run(
      [
        .prepared(PostgresStatements.lockInstallation, [installation.id.id.hex]),
        .prepared(
          PostgresStatements.ofInstallation,
          [owner.callerID, owner.subject, installation.id.id.hex, "\(installation.generation)"]),
      ], within: Self.span)[1].rows
    guard !found.isEmpty else { return ([], []) }
    var ids: Set<CallbackID> = []
    var returned: [CallbackID: [KeptReceipt]] = [:]
    var (keys, places): (Set<StoreID>, Set<StoreID>) = ([], [])
    for row in found {
      let id = CallbackID(try row.id(0))
      ids.insert(id)
      if case .ends = succession, let content = try row.optionalBytes(3) {
        returned[id] = receipts(id, content)
      }
      if let key = try row.optionalID(1) { keys.insert(key) }
      if let place = try row.optionalID(2) { places.insert(place) }
    }
    var working = WorkingSet(succeeding: ids, returning: returned, ids: try maker(connection))
    let late = try lock(&working, keys: keys, named: [], places: places, connection, [])
    guard late.isEmpty else { return nil }
    let turn = instance.health.turn(database: working.databaseTime)
    let ended = working.succeed(succession, at: now, turn: turn)
    return (commands(for: working), ended)
  }

  // MARK: Recovering

  package func callbacks(_ query: AliasQuery) throws(StoreError) -> [StoredCallback] {
    switch query {
    case .name(let name):
      try rows(CallbackStatements.alias, [.bytes(name.bytes)]).map(\.record)
    case .numbers(let numbers):
      try records(
        PostgresStatements.aliasNumbers,
        [PostgresText.array(quoting: numbers.map { PostgresText.bytea($0.bytes) }), "\(AliasQuery.most)"])
    }
  }

  package func callbacks(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback] {
    try records(PostgresStatements.callbacks, [PostgresText.array(ids.map(\.id.hex))])
  }

  private func records(
    _ statement: PostgresStatement, _ parameters: [String?]
  ) throws(StoreError) -> [StoredCallback] {
    try read(.prepared(statement, parameters)) { rows throws(PostgresFailure) in
      try rows.map { row throws(PostgresFailure) in try PostgresCallbacks.row(row).record }
    }
  }

  /// Saves a heartbeat of this store on the server, unless the last one is recent enough.
  func signalLife(_ connection: PostgresConnection, isDue: Bool = false) throws(PostgresFailure) {
    let now = clock.now
    guard isDue || !instance.isFresh(at: now) else { return }
    _ = try connection.run(
      [.prepared(PostgresStatements.signalLife, ["\(instance.number)"])], within: Self.span)
    instance.seen(at: now)
  }

  /// Recovers the pending records of instances that are gone: those that were closed, and those whose last
  /// heartbeat is more than ten seconds old by the server's clock, if this instance sent heartbeats all that
  /// time. So an outage of the server makes no instance seem gone. Also recovers overdue records of this
  /// instance that are not in `inHand`.
  package func recover(at now: Instant, besides inHand: Set<CallbackID>) throws(StoreError)
    -> RecoveredRecords
  {
    var recovered = RecoveredRecords()
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      try self.signalLife(connection, isDue: true)
      let counts = try connection.run(
        [
          .prepared(
            PostgresStatements.recover,
            [
              "\(self.instance.number)", "\(now.nanosecondsSinceEpoch)", CallbackRecovery.code,
              PostgresText.array(inHand.map(\.id.hex)), "\(CallbackNotices.grace.nanosecondsClamped)",
            ])
        ], within: Self.span)[0].rows
      guard let counts = counts.first else { return }
      recovered = RecoveredRecords(callbacks: Int(try counts.integer(0)), tickets: Int(try counts.integer(1)))
    }
    return recovered
  }

  package static func leave(
    _ instance: PostgresInstance, _ sessions: SessionQueue<PostgresSession>
  ) async {
    // If the server never received a heartbeat, there is nothing to remove.
    guard instance.isKnown else { return }
    // If this fails, the instance counts as gone ten seconds after its last heartbeat.
    do throws(StoreError) {
      try await sessions.call(.writes) { session throws(StoreError) in try session.endInstance() }
    } catch {}
  }

  /// Removes this store's heartbeat from the server, so that other instances can recover its records at once.
  private func endInstance() throws(StoreError) {
    try use { connection throws(PostgresFailure) in
      _ = try connection.run(
        [.prepared(PostgresStatements.endInstance, ["\(self.instance.number)"])], within: Self.span)
    }
  }

  // MARK: Forgetting

  /// Deletes the heartbeats of instances that are gone, and old marks, all at once: `most` has no effect.
  package func finishPurge(most: Int) throws(StoreError) -> Int {
    try use { connection throws(PostgresFailure) in
      _ = try connection.run(
        [.prepared(PostgresStatements.purgeInstances, []), .prepared(PostgresStatements.purgeMarks, [])],
        within: Self.span)
    }
    return 0
  }
}
