/// Converts ECDSA signatures between OpenSSL's DER (RFC 3279 §2.2.3) and JOSE's two halves side by side (RFC
/// 7518 §3.4).
package enum ECDSASignature {
  /// R ‖ S, each in `size` bytes. Nil unless the DER is exactly one SEQUENCE of two non-negative INTEGERs in
  /// minimal form that fit.
  package static func joined(fromDER der: [UInt8], size: Int) -> [UInt8]? {
    var outer = DERReader(der)
    guard let content = outer.element(DER.sequence), outer.remaining == 0 else { return nil }
    var inner = DERReader(content)
    guard let r = inner.magnitude(), let s = inner.magnitude(), inner.remaining == 0 else { return nil }
    guard r.count <= size, s.count <= size else { return nil }
    var joined = [UInt8](repeating: 0, count: 2 * size)
    joined.replaceSubrange(size - r.count..<size, with: r)
    joined.replaceSubrange(2 * size - s.count..<2 * size, with: s)
    return joined
  }

  /// The DER of R ‖ S; nil unless there are exactly `2 * size` bytes.
  package static func der(fromJoined joined: [UInt8], size: Int) -> [UInt8]? {
    guard joined.count == 2 * size else { return nil }
    return DER.element(DER.sequence, DER.integer(joined[..<size]) + DER.integer(joined[size...]))
  }
}
