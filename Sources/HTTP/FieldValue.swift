// Parses header values byte by byte, never by `Character` (RFC 9110 §5.6).

/// Operations on field values, octet by octet (RFC 9110 §5.6).
///
/// Field values are never parsed as text: Swift compares and searches `Character`s, which are grapheme
/// clusters. A character that a client chooses can join with the comma behind it (UAX #29, GB9b) and hide
/// what a proxy wrote, and a backward search through some characters takes quadratic time. `script/lint-text`
/// keeps such searches out of the code that reads from the network.
extension ArraySlice<UInt8> {
  /// The octets without spaces and tabs at both ends: optional white space (RFC 9110 §5.6.3).
  public var trimmed: ArraySlice<UInt8> {
    var low = startIndex
    var high = endIndex
    while low < high, self[low] == 0x20 || self[low] == 0x09 { low += 1 }
    while low < high, self[high - 1] == 0x20 || self[high - 1] == 0x09 { high -= 1 }
    return self[low..<high]
  }

  /// The elements of a list that is separated by one octet, without white space around them, empty ones left
  /// out (RFC 9110 §5.6.1).
  public func elements(separatedBy separator: UInt8 = UInt8(ascii: ",")) -> [ArraySlice<UInt8>] {
    split(separator: separator).map(\.trimmed).filter { !$0.isEmpty }
  }

  /// The parts between the separators outside quotation marks (RFC 9110 §5.6.4), and whether the last
  /// quotation has no end.
  package func parts(separatedBy separator: UInt8) -> (parts: [ArraySlice<UInt8>], isUnended: Bool) {
    var parts: [ArraySlice<UInt8>] = []
    var (start, isQuoted, isEscaped) = (startIndex, false, false)
    for (index, octet) in zip(indices, self) {
      if isEscaped {
        isEscaped = false
      } else if isQuoted, octet == UInt8(ascii: "\\") {
        isEscaped = true
      } else if octet == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if octet == separator, !isQuoted {
        parts.append(self[start..<index])
        start = index + 1
      }
    }
    return (parts + [self[start...]], isQuoted)
  }

  /// Whether these are the octets of an ASCII literal, which is written in lower case; case does not matter.
  public func equals(lowercase literal: StaticString) -> Bool {
    count == literal.utf8CodeUnitCount && starts(withLowercase: literal)
  }

  /// Whether the octets begin with an ASCII literal, which is written in lower case. Case does not matter.
  public func starts(withLowercase literal: StaticString) -> Bool {
    guard count >= literal.utf8CodeUnitCount else { return false }
    return literal.withUTF8Buffer { literal in
      unsafe zip(self, literal).allSatisfy { $0.lowercasedASCII == $1 }
    }
  }

  /// The number, if the octets are 1 to `digits` decimal digits and nothing else; otherwise nil.
  /// - Parameter digits: The maximum number of digits. It is at most 18, so that the number fits in an
  ///   `Int64`.
  public func decimal(digits: Int) -> Int64? {
    guard (1...digits).contains(count) else { return nil }
    var number: Int64 = 0
    for octet in self {
      guard let digit = octet.decimalValue else { return nil }
      number = number * 10 + Int64(digit)
    }
    return number
  }
}
