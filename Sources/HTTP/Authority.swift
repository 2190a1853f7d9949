/// Checks the host and port of a `Host` field or an absolute request target (RFC 9112 §3.2, RFC 3986 §3.2).
enum Authority {
  /// Whether a range is `uri-host [ ":" port ]` with a host that is not empty and a port below 65536.
  ///
  /// The check is stricter than the URI grammar: no userinfo, no empty label, no `sub-delims`, and IPv6
  /// literals are checked in full. So a proxy in front of this server cannot read an accepted authority
  /// differently.
  static func isValid(_ octets: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard !range.isEmpty else { return false }
    var end = range.lowerBound
    if octets[end] == UInt8(ascii: "[") {
      while end < range.upperBound, octets[end] != UInt8(ascii: "]") { end += 1 }
      guard end < range.upperBound, isIPv6(octets, (range.lowerBound + 1)..<end) else { return false }
      end += 1
    } else {
      while end < range.upperBound, octets[end] != UInt8(ascii: ":") { end += 1 }
      guard isRegisteredName(octets, range.lowerBound..<end) else { return false }
    }
    guard end < range.upperBound else { return true }
    return octets[end] == UInt8(ascii: ":") && isPort(octets, (end + 1)..<range.upperBound)
  }

  private static func isPort(_ octets: Span<UInt8>, _ range: Range<Int>) -> Bool {
    var port = 0
    for i in range {
      guard let digit = octets[i].decimalValue else { return false }
      port = port * 10 + Int(digit)
      guard port <= 65_535 else { return false }
    }
    return true
  }

  private static func isRegisteredName(_ octets: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard !range.isEmpty else { return false }
    var labelLength = 0
    var i = range.lowerBound
    while i < range.upperBound {
      let octet = octets[i]
      guard OctetSet.registeredName.contains(octet) else { return false }
      if octet == UInt8(ascii: ".") {
        guard labelLength > 0 else { return false }
        labelLength = 0
      } else {
        if octet == UInt8(ascii: "%") {
          guard i + 2 < range.upperBound, octets[i + 1].hexValue != nil, octets[i + 2].hexValue != nil
          else { return false }
          i += 2
        }
        labelLength += 1
      }
      i += 1
    }
    return true
  }

  /// Whether a range is an IPv6 address (RFC 3986 §3.2.2): eight groups, one run of zeros shortened to `::`,
  /// the last two optionally as IPv4.
  private static func isIPv6(_ octets: Span<UInt8>, _ range: Range<Int>) -> Bool {
    var groups = 0
    var shortened = false
    var i = range.lowerBound
    let end = range.upperBound
    if i + 1 < end, octets[i] == UInt8(ascii: ":"), octets[i + 1] == UInt8(ascii: ":") {
      shortened = true
      i += 2
      if i == end { return true }
    }
    while true {
      let start = i
      while i < end, i - start < 5, octets[i].hexValue != nil { i += 1 }
      if i < end, octets[i] == UInt8(ascii: ".") {
        guard isIPv4(octets, start..<end) else { return false }
        groups += 2
        return shortened ? groups <= 7 : groups == 8
      }
      guard i > start, i - start <= 4 else { return false }
      groups += 1
      guard groups <= 8 else { return false }
      if i == end { return shortened ? groups <= 7 : groups == 8 }
      guard octets[i] == UInt8(ascii: ":"), i + 1 < end else { return false }
      i += 1
      if octets[i] == UInt8(ascii: ":") {
        guard !shortened else { return false }
        shortened = true
        i += 1
        if i == end { return groups <= 7 }
      }
    }
  }

  private static func isIPv4(_ octets: Span<UInt8>, _ range: Range<Int>) -> Bool {
    var parts = 1
    var value = 0
    var digits = 0
    for i in range {
      if octets[i] == UInt8(ascii: ".") {
        guard digits > 0 else { return false }
        parts += 1
        value = 0
        digits = 0
      } else {
        guard let digit = octets[i].decimalValue, digits == 0 || value > 0 else { return false }
        value = value * 10 + Int(digit)
        digits += 1
        guard value <= 255 else { return false }
      }
    }
    return parts == 4 && digits > 0
  }
}
