// Seals values for the store with the current store key, and opens them with it or the previous one.

public import JOSE

/// The store keys of a server: the current key seals, and both keys open.
public struct StoreKeys: Sendable {
  /// The key that seals.
  public let current: StoreKey
  /// The other key during a rotation, which still opens values; nil otherwise.
  public let previous: StoreKey?

  /// Makes a pair of keys, which must differ.
  public init(current: StoreKey, previous: StoreKey? = nil) {
    precondition(current.mark != previous?.mark)
    self.current = current
    self.previous = previous
  }

  /// All keys, the current one first.
  public var all: [StoreKey] { [current] + [previous].compactMap(\.self) }

  /// The key derived from the current key for a purpose; see ``StoreKey/derived(_:info:count:)``.
  public func derived(_ purpose: Purpose, info: [UInt8] = [], count: Int) -> Secret {
    current.derived(purpose, info: info, count: count)
  }

  /// The first byte of sealed values. The key's id follows, then nonce, ciphertext and tag of AES-256-GCM.
  private static let version: UInt8 = 1
  private static let headerByteCount = 1 + StoreKeyID.byteCount

  /// The reason why a sealed value cannot be opened.
  public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes are not a sealed value, or are one of a newer release.
    case malformed
    /// The value was sealed with a key that is not configured.
    case unknownKey(StoreKeyID)
    /// The value was changed, or was sealed for another purpose or with other associated bytes.
    case broken

    public var description: String {
      switch self {
      case .malformed: "this is not a sealed value, or one of a newer release"
      case .unknownKey(let id): "this value was sealed with the store key \(id), which is not configured"
      case .broken: "the seal is broken, or made for another purpose or place"
      }
    }
  }

  /// Seals a value with the current key. `associated` ties the value to its location, such as a record's id:
  /// opening the value needs the same bytes.
  public func seal(
    _ plaintext: [UInt8], for purpose: Purpose, associated: [UInt8]
  ) throws(OpenSSLError) -> [UInt8] {
    let header = [Self.version] + current.id.bytes
    return header
      + (try Self.cipher(current, purpose).seal(plaintext, associated: header + associated))
  }

  /// Opens a value with the key that sealed it.
  public func open(
    _ sealed: [UInt8], for purpose: Purpose, associated: [UInt8]
  ) throws(Failure) -> [UInt8] {
    guard let id = Self.keyID(of: sealed) else { throw .malformed }
    guard let key = all.first(where: { $0.id == id }) else { throw .unknownKey(id) }
    do throws(AESGCM.BrokenSeal) {
      return try Self.cipher(key, purpose).open(
        Array(sealed[Self.headerByteCount...]),
        associated: Array(sealed[..<Self.headerByteCount]) + associated)
    } catch {
      throw .broken
    }
  }

  /// The id of the key that sealed a value; nil if the bytes are not a sealed value.
  public static func keyID(of sealed: [UInt8]) -> StoreKeyID? {
    guard sealed.count >= headerByteCount + AESGCM.overhead, sealed[0] == version else { return nil }
    return StoreKeyID(Array(sealed[1..<headerByteCount]))
  }

  private static func cipher(_ key: StoreKey, _ purpose: Purpose) -> AESGCM {
    key.ciphers[purpose] ?? AESGCM(key.derived(purpose, count: AESGCM.keyByteCount))
  }
}
