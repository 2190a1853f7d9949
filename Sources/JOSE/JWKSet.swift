// Reads a JSON Web Key Set and selects the key that must verify a token.

public import JSON
import Texts

/// One key of a JWK set that may verify signatures (RFC 7517 §4).
public struct JWK: Sendable {
  /// The key itself.
  public enum Material: Sendable {
    case `public`(PublicKey)
    case symmetric(SymmetricKey)
  }

  /// The `kid`, by which tokens name the key.
  public let keyID: String?
  /// The key.
  public let material: Material
  /// The signature algorithms for it: all that fit, or the one in `alg`. Empty for a secret, which has its
  /// own algorithm.
  public let algorithms: [SignatureAlgorithm]
  /// Whether the set also has the private half. It is not read, but its publisher should know.
  public let hasPrivateMembers: Bool

  /// Reads a JWK. `use`, `key_ops` and `alg` must allow verification with an algorithm supported here.
  ///
  /// - Throws: `KeyError` with the member that is in the way.
  public init(_ value: JSONValue) throws(KeyError) {
    guard let object = value.object else { throw .invalidJWK(reason: "it is not an object") }
    keyID = try Self.text("kid", of: object)
    let use = try Self.text("use", of: object)
    guard use == nil || use == "sig" else { throw .invalidJWK(reason: "use is not sig") }
    if let operations = object["key_ops"] {
      guard let names = operations.array, names.contains("verify"), Set(names).count == names.count else {
        throw .invalidJWK(reason: "key_ops does not allow verify")
      }
    }
    let name = try Self.text("alg", of: object)
    if object["kty"] == "oct" {
      guard let algorithm = name.flatMap(MACAlgorithm.init(rawValue:)) else {
        throw .invalidJWK(reason: "a secret needs alg HS256, HS384 or HS512")
      }
      guard let text = try Self.text("k", of: object), var bytes = Base64URL.decode(text) else {
        throw .invalidJWK(reason: "k is not Base64url")
      }
      material = .symmetric(try SymmetricKey(Secret(wiping: &bytes), algorithm: algorithm))
      algorithms = []
      hasPrivateMembers = false
    } else {
      let key = try PublicKey(jwk: value)
      if let name {
        guard let algorithm = SignatureAlgorithm(rawValue: name) else {
          throw .invalidJWK(reason: "alg is not supported")
        }
        guard key.fits(algorithm) else { throw .unfit(key.kind, algorithm) }
        algorithms = [algorithm]
      } else {
        algorithms = key.kind.algorithms
      }
      material = .public(key)
      hasPrivateMembers = object["d"] != nil
    }
  }

  private static func text(_ name: String, of object: JSONObject) throws(KeyError) -> String? {
    guard let value = object[name] else { return nil }
    guard let text = value.string else { throw .invalidJWK(reason: "\(name) is not a string") }
    return text
  }
}

extension JWS.Compact {
  /// Whether the signature is this key's. The algorithm must be one the key allows; the token only says which.
  public func verify(with key: JWK) -> Bool {
    switch key.material {
    case .symmetric(let secret): return verify(with: secret)
    case .public(let publicKey):
      guard let algorithm = SignatureAlgorithm(rawValue: algorithmName), key.algorithms.contains(algorithm)
      else {
        return false
      }
      return verify(with: publicKey, algorithm: algorithm)
    }
  }
}

/// A set of keys that verify an issuer's tokens (RFC 7517 §5).
public struct JWKSet: Sendable {
  /// An entry that was passed over: its place in the set, its `kid` if it has one, and why.
  public struct Skipped: Sendable {
    public let index: Int
    public let keyID: String?
    public let reason: KeyError
  }

  /// The longest set looked at, and the most keys in one.
  public static let maximumBytes = 256 * 1024
  public static let maximumKeys = 64
  /// The largest RSA key taken from a set. To check one of 8192 bits takes 0.1 s, and a set is fetched each minute.
  public static let maximumRSABits = 4096
  /// Octets of the modulus of such a key in Base64url (RFC 7518 §6.3.1.1).
  private static let longestModulus = (maximumRSABits / 8 * 4 + 2) / 3

  /// The keys that can verify, in order.
  public let keys: [JWK]
  /// The entries that cannot, for the log: unknown types and encryption keys are normal there (RFC 7517 §5).
  public let skipped: [Skipped]

  /// Reads a set. Secrets (`oct`) are taken only if `symmetric` says so: a published set has no business with them.
  ///
  /// - Throws: `JWKSetError` for a value that is not a set, and for a set that has too many keys, names two signature keys alike or
  ///   mixes secrets with public keys.
  public init(parsing bytes: [UInt8], symmetric: Bool = false) throws(JWKSetError) {
    let value: JSONValue
    do {
      value = try JSONValue(
        parsing: bytes, limits: JSONLimits(bytes: Self.maximumBytes, depth: 16, members: 64))
    } catch {
      throw .notJSON(error)
    }
    guard let entries = value["keys"]?.array else { throw .noKeys }
    guard entries.count <= Self.maximumKeys else { throw .tooManyKeys }
    var keys: [JWK] = []
    var skipped: [Skipped] = []
    for (index, entry) in entries.enumerated() {
      do throws(KeyError) {
        if entry["kty"] == "oct", !symmetric { throw KeyError.invalidJWK(reason: "a secret in a public set") }
        if entry["kty"] == "RSA", let modulus = entry["n"]?.string, modulus.utf8.count > Self.longestModulus {
          throw KeyError.invalidJWK(reason: "an RSA key in a set has at most \(Self.maximumRSABits) bits")
        }
        keys.append(try JWK(entry))
      } catch {
        skipped.append(Skipped(index: index, keyID: entry["kid"]?.string, reason: error))
      }
    }
    let secrets = keys.count { $0.algorithms.isEmpty }
    guard secrets == 0 || secrets == keys.count else { throw .mixedKeys }
    // With two keys of one name, whichever came first would win, and an order is not a promise. A damaged twin counts:
    // it may be the one that was meant. A key for encryption does not, nor a type that is not known.
    let names = entries.compactMap { entry -> [UInt8]? in
      guard ["EC", "RSA", "OKP", "oct"].contains(entry["kty"]), entry["use"] != "enc" else { return nil }
      return entry["kid"]?.string.map { Array($0.utf8) }
    }
    guard Set(names).count == names.count else { throw .duplicateKeyID }
    self.keys = keys
    self.skipped = skipped
  }

  /// The key a token names. Without a `kid` it is the only key there is; an unknown `kid` is never replaced by another.
  public func key(named keyID: String?) -> JWK? {
    guard let keyID else { return keys.count == 1 ? keys[0] : nil }
    return keys.first { $0.keyID?.hasSameBytes(as: keyID) == true }
  }
}

/// Why a text is no JWK set.
public enum JWKSetError: Error, Hashable, Sendable, CustomStringConvertible {
  case notJSON(JSONError)
  case noKeys, tooManyKeys, duplicateKeyID, mixedKeys

  public var description: String {
    switch self {
    case .notJSON(let error): "the key set is not JSON: \(error)"
    case .noKeys: "the key set is not an object with an array named keys"
    case .tooManyKeys: "the key set has more than \(JWKSet.maximumKeys) keys"
    case .mixedKeys: "the key set mixes secrets with public keys"
    case .duplicateKeyID: "two keys of the set have the same kid"
    }
  }
}
