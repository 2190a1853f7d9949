/// A set of ASCII octets, stored as 128 bits. The character classes of RFC 9110 and RFC 3986 are such sets,
/// so testing an octet needs no table in memory.
struct OctetSet: Sendable {
  /// Octets 0–63.
  let low: UInt64
  /// Octets 64–127.
  let high: UInt64

  /// Whether the octet is in the set; octets above 127 never are.
  @inline(__always) func contains(_ octet: UInt8) -> Bool {
    let word = octet < 64 ? low : (octet < 128 ? high : 0)
    return (word &>> UInt64(octet & 63)) & 1 != 0
  }

  /// `tchar` (RFC 9110 §5.6.2): methods, field names, chunk extension names.
  @inline(__always) static var token: OctetSet {
    OctetSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
  }
  /// `pchar`, `/` and the percent sign (RFC 3986 §3.3).
  @inline(__always) static var path: OctetSet {
    OctetSet(low: 0x2fff_fff2_0000_0000, high: 0x47ff_fffe_87ff_ffff)
  }
  /// `pchar`, `/`, `?` and the percent sign (RFC 3986 §3.4).
  @inline(__always) static var query: OctetSet {
    OctetSet(low: 0xafff_fff2_0000_0000, high: 0x47ff_fffe_87ff_ffff)
  }
  /// `unreserved` and the percent sign: the octets of a registered name (RFC 3986 §3.2.2). `sub-delims` are
  /// not allowed, because no name on the Internet uses them and a list with commas could hide in them.
  @inline(__always) static var registeredName: OctetSet {
    OctetSet(low: 0x03ff_6020_0000_0000, high: 0x47ff_fffe_87ff_fffe)
  }
}

extension UInt8 {
  /// The octet with `A`–`Z` mapped to `a`–`z`; field names compare this way (RFC 9110 §5.1).
  @inlinable public var lowercasedASCII: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

  /// The value of a decimal digit; nil for any other octet.
  @inline(__always) var decimalValue: UInt8? {
    let value = self &- 0x30
    return value < 10 ? value : nil
  }

  /// The value of a hexadecimal digit of either case; nil for any other octet.
  @inline(__always) package var hexValue: UInt8? {
    let digit = self &- 0x30
    if digit < 10 { return digit }
    let letter = (self | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }
}
