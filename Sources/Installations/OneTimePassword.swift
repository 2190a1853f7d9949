// Computes one-time passwords: by counter (RFC 4226) and by time (RFC 6238).

package import JOSE

/// One-time passwords with HMAC-SHA-1, of six digits by default, as every authenticator app computes them.
package enum OneTimePassword {
  /// The length of a time step, in seconds (RFC 6238 §4.1).
  package static let step: Int64 = 30

  /// The password for a counter (RFC 4226 §5.3), with leading zeros.
  ///
  /// - Parameter digits: 6 to 8.
  package static func code(seed: Secret, counter: Int64, digits: Int = 6) -> String {
    precondition((6...8).contains(digits) && counter >= 0)
    var message: [UInt8] = []
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      message.append(UInt8(truncatingIfNeeded: UInt64(counter) >> shift))
    }
    let mac = HMAC.code(message, key: seed, .sha1)
    let offset = Int(mac[19] & 15)
    let number = mac[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    let modulus: UInt32 = digits == 6 ? 1_000_000 : digits == 7 ? 10_000_000 : 100_000_000
    let text = String(number % modulus)
    return String(repeating: "0", count: digits - text.utf8.count) + text
  }

  /// The time step of a time, in seconds since the epoch (RFC 6238 §4.2, with T0 = 0).
  package static func step(at seconds: Int64) -> Int64 { max(0, seconds) / step }

  /// The remaining seconds of a step: 1 to 30.
  package static func secondsLeft(at seconds: Int64) -> Int64 { step - max(0, seconds) % step }
}
