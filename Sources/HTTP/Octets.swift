/// Small operations on spans of octets that the parsers share.
extension [UInt8] {
  /// Appends a span in one copy.
  @inline(__always) package mutating func append(contentsOf octets: Span<UInt8>) {
    // The pointer lives inside the closure only; `append` copies from it.
    unsafe octets.withUnsafeBufferPointer { unsafe self.append(contentsOf: $0) }
  }

  /// Appends a literal in one copy.
  @inline(__always) mutating func append(literal: StaticString) {
    literal.withUTF8Buffer { unsafe self.append(contentsOf: $0) }
  }

  /// Appends a number in decimal.
  package mutating func append(decimal number: Int) {
    if number >= 10 { append(decimal: number / 10) }
    append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
  }
}

extension Span<UInt8> {
  /// Whether the octets of a range equal an ASCII literal, which is written in lower case. Case does not
  /// matter.
  @inline(__always) package func equals(_ range: Range<Int>, lowercase literal: StaticString) -> Bool {
    let count = literal.utf8CodeUnitCount
    guard range.count == count else { return false }
    // The literal's pointer is valid for the whole program and is read below its own length.
    let start = unsafe literal.utf8Start
    for i in 0..<count where unsafe self[range.lowerBound + i].lowercasedASCII != start[i] { return false }
    return true
  }

  /// The range without spaces and tabs at its ends: optional white space (RFC 9110 §5.6.3).
  @inline(__always) func trimmed(_ range: Range<Int>) -> Range<Int> {
    var low = range.lowerBound
    var high = range.upperBound
    while low < high, self[low] == 0x20 || self[low] == 0x09 { low += 1 }
    while low < high, self[high - 1] == 0x20 || self[high - 1] == 0x09 { high -= 1 }
    return low..<high
  }
}
