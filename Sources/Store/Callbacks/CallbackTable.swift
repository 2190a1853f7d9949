// What expires of callbacks, in the order in which it is deleted.

/// What a purge deletes of callbacks, in this order: rows that point to a record go before it. Codes are columns of records.
package enum CallbackTable: CaseIterable, Sendable {
  case places, keys, codes, records
}
