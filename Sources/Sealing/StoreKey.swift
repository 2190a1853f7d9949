// The store key: a secret of 32 bytes, and the keys that are derived from it.

public import JOSE

/// The secret that seals values in the store. The store contains only the key's mark, never the key.
public struct StoreKey: Sendable {
  /// The length of a key, in bytes.
  public static let byteCount = 32

  /// The error for a text that is not a store key.
  public struct Malformed: Error, Hashable, Sendable {}

  private let secret: Secret
  /// The mark in the store, which identifies the key.
  public let mark: StoreKeyMark
  /// The key for the codes that name callbacks for GMS clients. It is derived once, because each request of a
  /// GMS client needs such codes.
  public let naming: Secret
  /// The ciphers for the most frequent purposes of sealing. Their keys are derived once, because a booking
  /// seals while other requests wait for the store.
  let ciphers: [Purpose: AESGCM]
  /// The key's id in sealed values, in the store and in logs.
  public var id: StoreKeyID { mark.id }

  /// Makes a store key from its 32 bytes.
  public init(_ secret: Secret) {
    precondition(secret.count == Self.byteCount)
    self.secret = secret
    naming = Self.derive(secret, Purpose.gms.label, [], count: Self.byteCount)
    ciphers = [Purpose.sealing, .appointment, .device].reduce(into: [:]) {
      $0[$1] = AESGCM(Self.derive(secret, $1.label, [], count: AESGCM.keyByteCount))
    }
    let id = Self.derive(secret, "id", [], count: StoreKeyID.byteCount).exposedBytes()
    guard let id = StoreKeyID(id) else { preconditionFailure("as many bytes as were derived") }
    mark = StoreKeyMark(
      id: id, check: Self.derive(secret, "check", [], count: StoreKeyMark.checkByteCount).exposedBytes())
  }

  /// Reads a key: 44 characters of Base64, or 64 hexadecimal digits, with nothing around them.
  public init(text: [UInt8]) throws(Malformed) {
    let text = String(decoding: text, as: UTF8.self)
    let bytes = text.utf8.count == 2 * Self.byteCount ? Hex.decode(text) : Base64.decode(text)
    guard var bytes, bytes.count == Self.byteCount else { throw Malformed() }
    self.init(Secret(wiping: &bytes))
  }

  /// Makes a random key.
  public static func generate() throws(OpenSSLError) -> StoreKey {
    var bytes = try RandomBytes.make(byteCount)
    return StoreKey(Secret(wiping: &bytes))
  }

  /// The key as Base64, for the few places where it leaves the process on purpose.
  public func exposedText() -> String { Base64.encode(secret.exposedBytes()) }

  /// The derived key for a purpose. Each purpose and each `info` has an independent key.
  public func derived(_ purpose: Purpose, info: [UInt8] = [], count: Int) -> Secret {
    Self.derive(secret, purpose.label, info, count: count)
  }

  /// No label contains a NUL, so no two pairs of label and `info` are the same bytes.
  private static func derive(_ secret: Secret, _ label: String, _ info: [UInt8], count: Int) -> Secret {
    HKDF.derive(
      from: secret, salt: Array("callgate store key".utf8), info: Array(label.utf8) + [0] + info, count: count
    )
  }
}

/// The purpose of a derived key. The label of a case must never change, because the same key must be derived
/// again.
public enum Purpose: CaseIterable, Sendable {
  /// Sealing the verification codes of callbacks.
  case sealing
  /// Sealing the contents of appointments.
  case appointment
  /// The seeds of one-time codes that change with time (RFC 6238).
  case totp
  /// The seeds of one-time codes that are counted (RFC 4226).
  case hotp
  /// The ids of push notifications.
  case notice
  /// Sealing the devices named in requests for callbacks.
  case device
  /// The names of callbacks for GMS clients, and the hashes of their numbers.
  case gms
  /// The chain of audit lines.
  case audit
  /// The codes that show that this server issued a challenge for an attestation.
  case challenge
  /// The secrets of installations, which are derived from the request that enrolls them.
  case enrolment
  /// The nonces of DPoP proofs.
  case proofNonce
  /// The digests of addresses and passwords by which the store recognizes a login.
  case login
  /// Sealing the key for hashes of phone numbers.
  case numbers

  fileprivate var label: String {
    switch self {
    case .sealing: "sealing"
    case .appointment: "appointment"
    case .totp: "totp"
    case .hotp: "hotp"
    case .notice: "notice"
    case .device: "device"
    case .gms: "gms"
    case .audit: "audit"
    case .challenge: "challenge"
    case .enrolment: "enrolment"
    case .proofNonce: "proof nonce"
    case .login: "login"
    case .numbers: "numbers"
    }
  }
}

/// The id of a store key: 4 bytes derived from the key, which do not reveal it.
public struct StoreKeyID: Hashable, Sendable, CustomStringConvertible {
  /// The length of an id, in bytes.
  public static let byteCount = 4

  public let bytes: [UInt8]

  /// Makes an id from stored bytes; nil unless there are 4.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// The id in lowercase hex.
  public var description: String { Hex.encode(bytes) }
}

/// The mark of a key in the store: the key's id, and a check value that tells keys with the same id apart.
public struct StoreKeyMark: Hashable, Sendable {
  /// The length of a check value, in bytes.
  public static let checkByteCount = 16

  /// The key's id.
  public let id: StoreKeyID
  public let check: [UInt8]

  /// Makes a mark from stored values.
  public init(id: StoreKeyID, check: [UInt8]) {
    self.id = id
    self.check = check
  }
}
