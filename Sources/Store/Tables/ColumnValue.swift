// The values and types of columns, in a form that is the same for every database.

package import Gate

/// A value that is written to a column or was read from one.
package enum ColumnValue: Hashable, Sendable {
  case integer(Int64)
  case text(String)
  case bytes([UInt8])
  case id(StoreID)
  case null

  /// The value, or NULL for nil.
  package static func optional(_ text: String?) -> ColumnValue { text.map { .text($0) } ?? .null }
  package static func optional(_ number: Int64?) -> ColumnValue { number.map { .integer($0) } ?? .null }
  package static func optional(_ bytes: [UInt8]?) -> ColumnValue { bytes.map { .bytes($0) } ?? .null }
  package static func optional(_ id: StoreID?) -> ColumnValue { id.map { .id($0) } ?? .null }

  package static func time(_ time: Instant) -> ColumnValue { .integer(time.nanosecondsSinceEpoch) }
  /// The time, or NULL for nil.
  package static func time(_ time: Instant?) -> ColumnValue { .optional(time?.nanosecondsSinceEpoch) }
}

package enum ColumnType: Sendable {
  /// 64 bits.
  case integer
  /// 32 bits, in a database with such a type.
  case small
  case text
  /// Text from another system that identifies nothing here. A database that cannot save a NUL character may
  /// save another one for it, because the row must be saved in any case.
  case words
  case bytes
  /// 16 octets.
  case id
}
