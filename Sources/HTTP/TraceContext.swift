// Reads and writes the `traceparent` field, which carries the position of a request in a distributed trace.

import Texts

/// The position of a request in a distributed trace: the `traceparent` field of W3C Trace Context
/// (https://www.w3.org/TR/trace-context/).
///
/// Any client can send the field, so it is parsed strictly, and the outgoing field is written from the parsed
/// values. The server does not pass on `tracestate`, as §3.3 allows: it is free text from clients, and the
/// server's requests go to another company.
public struct TraceContext: Hashable, Sendable {
  private let high: UInt64
  private let low: UInt64
  /// The ID of the span that the request belongs to: the client's, or the server's own after `child()`.
  public let spanID: UInt64
  /// Whether the trace's origin records the trace. The server only passes this on.
  public let isSampled: Bool

  /// The length in octets of a value in version 00, and of the known part of a value in a later version.
  private static let length = 55

  /// The trace of a request; nil if the request names none, an invalid one, or more than one (§3.2).
  public init?(_ request: borrowing Request) {
    guard let value = request.value(of: .traceparent), request.count(of: .traceparent) == 1 else {
      return nil
    }
    self.init(request.head[value])
  }

  /// Reads a field's value (§3.2.2). If its version is later than 00, only the known part is used.
  public init?(_ octets: some RandomAccessCollection<UInt8>) {
    guard octets.count >= Self.length else { return nil }
    var digits = Digits(octets)
    guard let version = digits.next(2), version != 0xFF, digits.nextDash(),
      let high = digits.next(16), let low = digits.next(16), high != 0 || low != 0, digits.nextDash(),
      let span = digits.next(16), span != 0, digits.nextDash(), let flags = digits.next(2)
    else { return nil }
    // Version 00 ends here. The additions of a later version begin with a dash.
    guard octets.count == Self.length || version != 0 && digits.nextDash() else { return nil }
    self.init(high: high, low: low, spanID: span, isSampled: flags & 1 == 1)
  }

  private init(high: UInt64, low: UInt64, spanID: UInt64, isSampled: Bool) {
    self.high = high
    self.low = low
    self.spanID = spanID
    self.isSampled = isSampled
  }

  /// The same trace with a new span, for a request that the server makes on behalf of this one.
  public func child() -> TraceContext {
    TraceContext(high: high, low: low, spanID: .random(in: 1 ... .max), isSampled: isSampled)
  }

  /// The value of the `traceparent` field, in version 00.
  public var traceparent: String {
    let octets = [UInt8](capacity: Self.length) { output in
      output.append(literal: "00-")
      appendTraceID(to: &output)
      output.append(UInt8(ascii: "-"))
      output.append(hexadecimal: spanID)
      output.append(literal: isSampled ? "-01" : "-00")
    }
    return String(decoding: octets, as: UTF8.self)
  }

  /// The trace's id: 32 lower-case hexadecimal digits.
  public var traceID: String {
    let octets = [UInt8](capacity: Self.idLength) { appendTraceID(to: &$0) }
    return String(decoding: octets, as: UTF8.self)
  }

  /// The number of digits in the trace's id.
  public static let idLength = 32

  /// Appends the trace's id.
  public func appendTraceID(to output: inout OutputSpan<UInt8>) {
    output.append(hexadecimal: high)
    output.append(hexadecimal: low)
  }

  /// Reads groups of lower-case hexadecimal digits: upper case is not allowed (§3.2.2).
  private struct Digits<Octets: RandomAccessCollection<UInt8>> {
    private let octets: Octets
    private var index: Octets.Index

    init(_ octets: Octets) {
      self.octets = octets
      index = octets.startIndex
    }

    /// The next digits as a number; nil if one of the octets is not such a digit.
    mutating func next(_ count: Int) -> UInt64? {
      var number: UInt64 = 0
      for _ in 0..<count {
        let octet = octets[index]
        guard let digit = octet.hexValue, !(0x41...0x46).contains(octet) else { return nil }
        number = number << 4 | UInt64(digit)
        octets.formIndex(after: &index)
      }
      return number
    }

    mutating func nextDash() -> Bool {
      defer { octets.formIndex(after: &index) }
      return octets[index] == UInt8(ascii: "-")
    }
  }
}

extension TraceContext: CustomStringConvertible {
  public var description: String { traceparent }
}
