// Makes and recognizes the nonces of DPoP proofs, without a list of the nonces in use.

public import JOSE
import Synchronization

/// The nonces that clients put into proofs, so that no proof can be made in advance (RFC 9449 §8).
///
/// A nonce consists of the number of its five-minute period, and an HMAC of that number with a key that all
/// instances have. A nonce is valid until the next period ends: for five to ten minutes.
public final class ProofNonces: Sendable {
  /// The length of a period, in seconds.
  static let period: Double = 300
  /// The length of the period's number before the HMAC, in bytes.
  private static let numberBytes = 8

  /// The keys. The first makes nonces, and all recognize them.
  private let keys: Mutex<[Secret]>

  /// - Parameter keys: At least one. The first makes nonces, and all recognize them.
  public init(keys: [Secret]) {
    precondition(!keys.isEmpty)
    self.keys = Mutex(keys)
  }

  /// Makes nonces with a random key, until the key that all instances have is known.
  public convenience init() throws(OpenSSLError) {
    var bytes = try RandomBytes.make(32)
    self.init(keys: [Secret(wiping: &bytes)])
  }

  /// The key that makes nonces, for saving it in the store.
  public func exposedKey() -> [UInt8] { keys.withLock { $0[0].exposedBytes() } }

  /// Replaces the keys with the one that all instances have.
  public func use(_ key: Secret) { keys.withLock { $0 = [key] } }

  /// The nonce to send to clients now.
  ///
  /// - Parameter now: Seconds since 1970.
  public func nonce(now: Double) -> String {
    let number = Self.number(now)
    return keys.withLock { Base64URL.encode(number + Self.code(number, $0[0])) }
  }

  /// Whether a nonce is from this server or another instance, and still valid.
  func isValid(_ nonce: String, now: Double) -> Bool {
    // The clock of another instance may be ahead.
    guard let bytes = Base64URL.decode(nonce), bytes.count > Self.numberBytes,
      [now, now - Self.period, now + Self.period].contains(where: { bytes.starts(with: Self.number($0)) })
    else { return false }
    let number = Array(bytes[..<Self.numberBytes])
    let code = Array(bytes[Self.numberBytes...])
    return keys.withLock { keys in
      keys.contains { constantTimeEqual(digest: Self.code(number, $0), digest: code) }
    }
  }

  private static func number(_ seconds: Double) -> [UInt8] {
    let number = UInt64(max(0, seconds / period))
    return stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  private static func code(_ number: [UInt8], _ key: Secret) -> [UInt8] {
    HMAC.code(number, key: key, .sha256)
  }
}
