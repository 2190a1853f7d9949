// Reads and writes 128 bits as the text of a UUID.

import Texts

extension StoreID {
  /// Reads the 36 characters of a UUID, in either case (RFC 9562 §4); nil for any other text.
  package init?(uuid octets: Span<UInt8>) {
    guard octets.count == 36 else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    for index in octets.indices {
      let octet = octets[index]
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard octet == UInt8(ascii: "-") else { return nil }
        continue
      }
      let digit: UInt8
      switch octet {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = octet - 0x30
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = octet - 0x57
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = octet - 0x37
      default: return nil
      }
      words = (words.0 << 4 | words.1 >> 60, words.1 << 4 | UInt64(digit))
    }
    self.init(high: words.0, low: words.1)
  }

  /// The text of a UUID in lower case.
  package var uuid: String {
    // Written without intermediate strings, since a callback has its id in six places.
    String(unsafeUninitializedCapacity: 36) { characters in
      var output = OutputSpan(buffer: characters, initializedCount: 0)
      output.append(uuid: high, low)
      return output.finalize(for: characters)
    }
  }
}
