// The store's operations on blocked numbers, and on the key for hashes of phone numbers, run in database
// sessions.

package import Gate
import Sealing

extension QueuedStore {
  package func numberKey(or new: StoredNumberKey) async throws(StoreError) -> StoredNumberKey {
    let id = ColumnValue.id(StoredNumberKey.id)
    if let known = try await rows(NumberStatements.key, id).first { return known }
    let call = ChangeCall(
      NumberStatements.saveKey, id, .optional(new.value), .optional(new.sealingKey))
    _ = try await sessions.call(.updates) { session throws(StoreError) in try session.change([call]) }
    // Another instance may have been first.
    return try await rows(NumberStatements.key, id).first ?? new
  }

  package func replaceNumberKey(
    _ old: StoredNumberKey, by new: StoredNumberKey
  ) async throws(StoreError) {
    guard let value = old.value else { return }
    let call = SealedTable.numberKey.replacing(
      SealedValue(id: StoredNumberKey.id.bytes, sealed: value, for: .numbers), by: new.value)
    _ = try await sessions.call(.updates) { session throws(StoreError) in try session.change([call]) }
  }

  package func block(_ number: BlockedNumber) async throws(StoreError) -> Bool {
    let values = BlockedNumberColumn.table.values(of: number).dropLast()
    let calls = [
      ChangeCall(NumberStatements.raiseSerial, NumberStatements.serial),
      ChangeCall(
        NumberStatements.block,
        values: values + [NumberStatements.serial, .integer(Int64(BlockedNumber.most))]),
    ]
    // The first statement always changes a row, so more than one changed row means that the number is
    // blocked.
    return try await sessions.call(.writes) { session throws(StoreError) in try session.change(calls) > 1 }
  }

  package func unblock(_ id: StoreID, at now: Instant) async throws(StoreError) {
    let calls = [
      ChangeCall(NumberStatements.raiseSerial, NumberStatements.serial),
      ChangeCall(NumberStatements.unblock, .time(now), NumberStatements.serial, .id(id)),
      ChangeCall(ScreeningStatements.forget, .id(id)),
    ]
    _ = try await sessions.call(.writes) { session throws(StoreError) in try session.change(calls) }
  }

  package func blockedNumbers(
    before serial: Int64?, most: Int, at now: Instant
  ) async throws(StoreError) -> [BlockedNumber] {
    try await rows(
      NumberStatements.blocked, .integer(serial ?? .max), .time(now), .integer(Int64(most)))
  }

  package func blockChanges(after serial: Int64, most: Int) async throws(StoreError) -> [BlockChange] {
    try await rows(NumberStatements.changes, .integer(serial), .integer(Int64(most)))
  }
}
