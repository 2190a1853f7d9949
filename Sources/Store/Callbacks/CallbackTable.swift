// The tables of callbacks with rows that expire, in the order of their deletion.

/// The parts of callbacks that a purge deletes, in this order: rows that point to a record go before it. Codes are columns of records.
package enum CallbackTable: CaseIterable, Sendable {
  case places, keys, codes, records
}
