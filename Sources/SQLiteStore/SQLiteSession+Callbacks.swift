// Reads and recovers callback records in an SQLite session.

package import Gate
import JOSE
package import Store

extension SQLiteSession {
  static let ofAliasNumber = CallbackStatements.Records(
    "alias_number", where: "alias_number IS NOT NULL AND alias_number = $1 ORDER BY id DESC LIMIT $2")

  package func standing(of intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackStanding {
    var book = CallbackBook()
    var names: CallbackNames?
    try use { open throws(StoreError) in
      let statements = try open.prepared()
      let made = statements.ids.names(of: intent)
      names = made
      book = CallbackBook()
      // Another process may write between two reads. So read the dedupe entry before and after the key. If
      // the entry did not change, it was the same when the key was read: if the key is free, the entry
      // belongs to another request.
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

  package func recover(at now: Instant, besides inHand: Set<CallbackID>) throws(StoreError)
    -> RecoveredRecords
  {
    var gone: [Int64] = []
    var hasLate = false
    try use { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      try stayAlive()
      gone = []
      for other in try callbacks.pendingInstances() {
        // An instance's number is never reused, so an instance that is gone now stays gone.
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
      // Look up the records again: another process may have written meanwhile.
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

  package func callbacks(_ query: AliasQuery) throws(StoreError) -> [StoredCallback] {
    var records: [StoredCallback] = []
    switch query {
    case .name(let name): records = try rows(CallbackStatements.alias, [.bytes(name.bytes)]).map(\.record)
    case .numbers(let numbers):
      for number in numbers {
        records += try rows(Self.ofAliasNumber, [.bytes(number.bytes), .integer(Int64(AliasQuery.most))])
          .map(\.record)
      }
    }
    return Array(records.sorted { $0.id > $1.id }.prefix(AliasQuery.most))
  }

  package func hashes(of call: EndedCall) throws(StoreError) -> (numbers: StoreID, call: StoreID) {
    var hashes: (numbers: StoreID, call: StoreID)?
    try use { open throws(StoreError) in
      let maker = try open.prepared().ids
      hashes = (
        maker.numbers(contact: call.contact, talkdesk: call.talkdesk), maker.name(ofCall: call.id)
      )
    }
    guard let hashes else { preconditionFailure("the body has not run") }
    return hashes
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
}
