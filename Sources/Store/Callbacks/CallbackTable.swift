// The database tables of callbacks, in the order in which expired rows are deleted.

/// The tables of callbacks, in the order of purging: rows that point to a record go before it.
package enum CallbackTable: CaseIterable, Sendable {
  case places, keys, records
}
