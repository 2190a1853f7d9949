// Finds and removes what editors and shells add around a text, such as a byte order mark.

extension [UInt8] {
  /// Drops a byte order mark (U+FEFF in UTF-8) at the start, which Windows editors write. Returns whether
  /// there was a mark.
  @discardableResult
  package mutating func dropByteOrderMark() -> Bool {
    guard starts(with: [0xEF, 0xBB, 0xBF]) else { return false }
    removeFirst(3)
    return true
  }

  /// Whether the text begins with the byte order mark of UTF-16, which Windows PowerShell 5.1 writes.
  package var isUTF16: Bool { starts(with: [0xFF, 0xFE]) || starts(with: [0xFE, 0xFF]) }

  /// Drops one line feed or CR LF at the end, which editors and `echo` write.
  package mutating func dropFinalLineFeed() {
    guard last == 0x0A else { return }
    removeLast()
    if last == 0x0D { removeLast() }
  }

  /// The blank or invisible character at the end of a text; nil if the text ends with another character.
  package var finalBlank: Unicode.Scalar? {
    // The longest UTF-8 sequence has four octets.
    String(decoding: suffix(4), as: UTF8.self).finalBlank
  }
}
