// The database tables of callbacks, in the order in which expired rows are deleted.

/// The tables of callbacks, in the order in which what is over is forgotten: what points to a record before it.
package enum CallbackTable: CaseIterable, Sendable {
  case places, keys, records
}
