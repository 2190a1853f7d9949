// A row in the result of a query, in a form that is the same for every database.

package import Gate
package import JOSE

/// The values of a row, read by index.
package struct ResultRow {
  private let values: ArraySlice<ColumnValue>

  package init(_ values: [ColumnValue]) { self.values = values[...] }
  private init(_ values: ArraySlice<ColumnValue>) { self.values = values }

  private subscript(place: Int) -> ColumnValue { values[values.startIndex + place] }

  /// The row without its first values.
  package func dropFirst(_ count: Int) -> ResultRow { ResultRow(values.dropFirst(count)) }

  /// Reads an entry of a table from the first values of the row.
  package func entry<Entry: TableEntry>() throws(UnreadableValue) -> Entry {
    try Entry(TableRow(ResultRow(values.prefix(Entry.Column.table.count))))
  }

  private func unreadable(_ place: Int) -> UnreadableValue { UnreadableValue(column: place) }

  // MARK: Values that may be NULL

  package func isNull(_ place: Int) -> Bool { self[place] == .null }

  package func optionalInteger(_ place: Int) throws(UnreadableValue) -> Int64? {
    switch self[place] {
    case .integer(let number): number
    case .null: nil
    case .text, .bytes, .id: throw unreadable(place)
    }
  }

  package func optionalText(_ place: Int) throws(UnreadableValue) -> String? {
    switch self[place] {
    case .text(let text): text
    case .null: nil
    case .integer, .bytes, .id: throw unreadable(place)
    }
  }

  package func optionalBytes(_ place: Int) throws(UnreadableValue) -> [UInt8]? {
    switch self[place] {
    case .bytes(let bytes): bytes
    case .null: nil
    case .integer, .text, .id: throw unreadable(place)
    }
  }

  package func optionalID(_ place: Int) throws(UnreadableValue) -> StoreID? {
    switch self[place] {
    case .id(let id): id
    case .null: nil
    case .integer, .text, .bytes: throw unreadable(place)
    }
  }

  package func optionalDigest(_ place: Int) throws(UnreadableValue) -> SHA256Digest? {
    guard let bytes = try optionalBytes(place) else { return nil }
    guard let digest = SHA256Digest(bytes) else { throw unreadable(place) }
    return digest
  }

  package func optionalWord<Word: RawRepresentable<String>>(_ place: Int) throws(UnreadableValue) -> Word? {
    guard let text = try optionalText(place) else { return nil }
    guard let word = Word(rawValue: text) else { throw unreadable(place) }
    return word
  }

  // MARK: Values that are never NULL

  private func value<Value>(_ value: Value?, _ place: Int) throws(UnreadableValue) -> Value {
    guard let value else { throw unreadable(place) }
    return value
  }

  package func integer(_ place: Int) throws(UnreadableValue) -> Int64 {
    try value(optionalInteger(place), place)
  }
  package func text(_ place: Int) throws(UnreadableValue) -> String { try value(optionalText(place), place) }
  package func bytes(_ place: Int) throws(UnreadableValue) -> [UInt8] {
    try value(optionalBytes(place), place)
  }
  package func id(_ place: Int) throws(UnreadableValue) -> StoreID { try value(optionalID(place), place) }
  package func time(_ place: Int) throws(UnreadableValue) -> Instant {
    Instant(nanosecondsSinceEpoch: try integer(place))
  }
  package func digest(_ place: Int) throws(UnreadableValue) -> SHA256Digest {
    try value(optionalDigest(place), place)
  }
  package func word<Word: RawRepresentable<String>>(_ place: Int) throws(UnreadableValue) -> Word {
    try value(optionalWord(place), place)
  }
}
