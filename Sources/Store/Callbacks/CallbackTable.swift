// The tables of callbacks with rows that expire, in the order of their deletion.

/// The parts of callbacks that a purge deletes, in this order: rows that point to a record go before it. Codes and contents are columns of
/// records. Callgate wipes a content with the end of its appointment; an instance of an older release, which ends one that it does not
/// know, leaves the content.
package enum CallbackTable: CaseIterable, Sendable {
  case places, keys, codes, contents, records
}
