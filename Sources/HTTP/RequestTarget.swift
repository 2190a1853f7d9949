// Reads the path, the path segments and the query items of a request.

import Texts

extension Request {
  /// The value of a name in a query.
  public enum QueryItem: Equatable, Sendable {
    /// The name does not occur.
    case absent
    /// The name occurs once; without `=` the value is empty.
    case value(String)
    /// The name occurs more than once, or `percentDecoded` refuses its value.
    case malformed
  }

  /// Whether the path is exactly this text, octet by octet: no decoding, so `/%61ccess` is not `/access`.
  public func pathIs(_ text: String) -> Bool { equals(path, text) }

  /// Whether the path begins with this text, octet by octet.
  public func pathStarts(with text: String) -> Bool {
    let count = text.utf8.count
    return path.count >= count && equals(path.lowerBound..<path.lowerBound + count, text)
  }

  /// The path's segments as ranges of `head`; empty ones, from duplicate or trailing slashes, are left out.
  public func pathSegments() -> [Range<Int>] {
    var segments: [Range<Int>] = []
    var start = path.lowerBound
    for i in path where head[i] == UInt8(ascii: "/") {
      if i > start { segments.append(start..<i) }
      start = i + 1
    }
    if path.upperBound > start { segments.append(start..<path.upperBound) }
    return segments
  }

  /// The text of a range of `head`, percent-decoded (RFC 3986 §2.1). Nil if an escape is malformed, or if the
  /// result is not UTF-8 or contains a control octet.
  public func percentDecoded(_ range: Range<Int>) -> String? {
    guard index(of: UInt8(ascii: "%"), in: range) < range.upperBound else {
      let octets = head.span.extracting(range)
      guard !octets.hasControl else { return nil }
      // A request target has no octet beyond ASCII, so there is nothing to validate.
      return unsafe octets.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
    var octets: [UInt8] = []
    octets.reserveCapacity(range.count)
    var i = range.lowerBound
    while i < range.upperBound {
      var octet = head[i]
      if octet == UInt8(ascii: "%") {
        guard i + 2 < range.upperBound, let high = head[i + 1].hexValue, let low = head[i + 2].hexValue
        else { return nil }
        octet = high << 4 | low
        i += 2
      }
      // A name or id with a control octet is an attack on a log or a store. No honest client sends one.
      guard octet >= 0x20, octet != 0x7F else { return nil }
      octets.append(octet)
      i += 1
    }
    return String(validating: octets, as: UTF8.self)
  }

  /// The query's item with a name. Names and values are percent-decoded; `+` remains a plus sign, not a
  /// space, because clients send phone numbers here.
  ///
  /// - Parameter known: Returns an existing text with these octets, if there is one. It is not called for a
  ///   value with percent signs.
  public func queryItem(_ name: String, known: (Span<UInt8>) -> String? = { _ in nil }) -> QueryItem {
    guard let query else { return .absent }
    let octets = head.span
    var found: Range<Int>?
    var start = query.lowerBound
    while start < query.upperBound {
      var nameEnd = start
      while nameEnd < query.upperBound, octets[nameEnd] != UInt8(ascii: "="),
        octets[nameEnd] != UInt8(ascii: "&")
      {
        nameEnd += 1
      }
      let end = index(of: UInt8(ascii: "&"), in: nameEnd..<query.upperBound)
      if start < end, isName(start..<nameEnd, name) {
        guard found == nil else { return .malformed }
        found = min(nameEnd + 1, end)..<end
      }
      start = end + 1
    }
    guard let found else { return .absent }
    if index(of: UInt8(ascii: "%"), in: found) == found.upperBound,
      let text = known(head.span.extracting(found))
    {
      return .value(text)
    }
    return percentDecoded(found).map { .value($0) } ?? .malformed
  }

  /// The index of an octet in a range of `head`; the range's end if it is not there.
  private func index(of octet: UInt8, in range: Range<Int>) -> Int {
    head.span.extracting(range).firstIndex(of: octet).map { range.lowerBound + $0 } ?? range.upperBound
  }

  /// Whether a range of `head` is a name, perhaps percent-encoded.
  private func isName(_ range: Range<Int>, _ name: String) -> Bool {
    if equals(range, name) { return true }
    guard index(of: UInt8(ascii: "%"), in: range) < range.upperBound else { return false }
    return percentDecoded(range)?.hasSameBytes(as: name) == true
  }

  /// A name and its value in a query.
  public struct QueryMember: Equatable, Sendable {
    /// The decoded name; as it was sent if it does not decode.
    public let name: String
    /// The decoded value: empty without `=`, nil if it does not decode.
    public let value: String?
  }

  /// The query's members in their order, including repeated names. Use this for names that are not known in
  /// advance: `queryItem` reads the whole query for each name.
  public var queryMembers: [QueryMember] {
    guard let query else { return [] }
    return head[query].split(separator: UInt8(ascii: "&")).map { member in
      let equals = member.firstIndex(of: UInt8(ascii: "=")) ?? member.endIndex
      let name = percentDecoded(member.startIndex..<equals)
      return QueryMember(
        name: name ?? String(decoding: member[..<equals], as: UTF8.self),
        value: percentDecoded(min(equals + 1, member.endIndex)..<member.endIndex))
    }
  }

  /// Whether the query has an item of this name, with or without a value.
  public func hasQueryItem(_ name: String) -> Bool { queryItem(name) != .absent }
}
