// Reads a JSON Web Key Set and selects the keys that may verify a token.

public import JSON
import Texts

/// One key of a JWK set that may verify signatures (RFC 7517 §4).
public struct JWK: Sendable {
  /// A public key, or a shared secret.
  public enum Material: Sendable {
    case `public`(PublicKey)
    case symmetric(SymmetricKey)
  }

  /// The `kid`, by which tokens name the key.
  public let keyID: String?
  public let material: Material
  /// The signature algorithms that the key may verify: the one in `alg`, or all that fit the key. Empty for a
  /// secret, which has its own algorithm.
  public let algorithms: [SignatureAlgorithm]
  /// The `alg`, if the key has one. `Ed25519` is stored as `EdDSA`, so that equal algorithms compare equal.
  private let statedAlgorithm: String?
  /// Whether the JWK also contains the private half. It is not read, but the publisher should know.
  public let hasPrivateMembers: Bool

  /// Reads a JWK. `use`, `key_ops` and `alg` must allow verification with an algorithm supported here.
  ///
  /// - Throws: `KeyError` with the member at fault, or the reason why the key is refused.
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
      statedAlgorithm = name
      guard let text = try Self.text("k", of: object), var bytes = Base64URL.decode(text) else {
        throw .invalidJWK(reason: "k is not Base64url")
      }
      material = .symmetric(try SymmetricKey(Secret(wiping: &bytes), algorithm: algorithm))
      algorithms = []
      hasPrivateMembers = false
    } else {
      let key = try PublicKey(jwk: value)
      if let name {
        guard let algorithm = SignatureAlgorithm(named: name) else {
          throw .invalidJWK(reason: "alg is not supported")
        }
        guard key.fits(algorithm) else { throw .unfit(key.kind, algorithm) }
        algorithms = [algorithm]
      } else {
        algorithms = key.kind.algorithms
      }
      statedAlgorithm = name == nil ? nil : algorithms[0].rawValue
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

extension JWK {
  /// Whether the key verifies signatures by an algorithm, named as in a token's `alg`.
  func allows(_ algorithm: String) -> Bool {
    switch material {
    case .symmetric(let secret): secret.algorithm.rawValue == algorithm
    case .public: SignatureAlgorithm(named: algorithm).map(algorithms.contains) ?? false
    }
  }

  /// The properties by which a token can tell keys apart (RFC 7517 §4.5).
  fileprivate struct Label: Hashable {
    let keyID: ExactText?
    /// `kty` and `crv` in one word.
    let type: String
    let algorithm: String?
  }

  fileprivate var label: Label {
    let type =
      switch material {
      case .symmetric: "oct"
      case .public(let key): if case .rsa = key.kind { "RSA" } else { key.kind.description }
      }
    return Label(keyID: keyID.map { ExactText($0) }, type: type, algorithm: statedAlgorithm)
  }

  /// A digest that is equal for equal keys.
  fileprivate var digest: SHA256Digest {
    switch material {
    case .symmetric(let secret): SHA256Digest(of: secret.code([]))
    case .public(let key): key.thumbprint
    }
  }
}

extension JWS.Compact {
  /// Whether the signature is valid under this key. The key must allow the algorithm; the token only selects
  /// one of the allowed algorithms.
  public func verify(with key: JWK) -> Bool {
    switch key.material {
    case .symmetric(let secret): return verify(with: secret)
    case .public(let publicKey):
      guard let algorithm = SignatureAlgorithm(named: algorithmName), key.algorithms.contains(algorithm)
      else {
        return false
      }
      return verify(with: publicKey, algorithm: algorithm)
    }
  }
}

/// A set of keys that verify an issuer's tokens (RFC 7517 §5).
public struct JWKSet: Sendable {
  /// An entry that was left out: its index in the set, its `kid` if it has one, and why.
  public struct Skipped: Sendable {
    public let index: Int
    public let keyID: String?
    public let reason: KeyError
  }

  /// The maximum size of a set, in bytes.
  public static let maximumBytes = 256 * 1024
  /// The maximum number of keys that are read from a set. Further keys are left out.
  public static let maximumKeys = 64
  /// The maximum length of an RSA key from a set, in bits. Checking an 8192-bit key takes 0.1 s, and a set
  /// may be fetched every minute.
  public static let maximumRSABits = 4096

  /// The keys that can verify, in order.
  public let keys: [JWK]
  /// The entries that were left out, in order. Unknown types and encryption keys are normal there (RFC 7517
  /// §5). One entry represents all keys beyond `maximumKeys`.
  public let skipped: [Skipped]

  /// Reads a set key by key: a key that is not understood is left out, and the others stay (RFC 7517 §5).
  /// Equal keys with the same `kid` and `alg` count once. Different keys with the same `kid`, type and
  /// algorithm are all left out: a token cannot tell them apart, the first would win, and the order of a set
  /// means nothing.
  ///
  /// Secrets (`oct`) are read only if `symmetric` is true, because a published set must not contain secrets.
  ///
  /// - Throws: `JWKSetError` for a value that is not a set, and for a set that mixes secrets with public
  ///   keys.
  public init(parsing bytes: [UInt8], symmetric: Bool = false) throws(JWKSetError) {
    let value: JSONValue
    do {
      value = try JSONValue(
        parsing: bytes, limits: JSONLimits(bytes: Self.maximumBytes))
    } catch {
      throw .notJSON(error)
    }
    guard let entries = value["keys"]?.array else { throw .noKeys }
    var read: [(index: Int, key: JWK)] = []
    var skipped: [Skipped] = []
    for (index, entry) in entries.prefix(Self.maximumKeys).enumerated() {
      do throws(KeyError) {
        if entry["kty"] == "oct", !symmetric { throw KeyError.invalidJWK(reason: "a secret in a public set") }
        if entry["kty"] == "RSA", try 8 * PublicKey.magnitude("n", of: entry).count > Self.maximumRSABits {
          throw KeyError.invalidJWK(reason: "an RSA key in a set has at most \(Self.maximumRSABits) bits")
        }
        read.append((index, try JWK(entry)))
      } catch {
        skipped.append(Skipped(index: index, keyID: entry["kid"]?.string, reason: error))
      }
    }
    if entries.count > Self.maximumKeys {
      let reason = "only the first \(Self.maximumKeys) keys of a set are read"
      skipped.append(Skipped(index: Self.maximumKeys, keyID: nil, reason: .invalidJWK(reason: reason)))
    }
    let secrets = read.count { $0.key.algorithms.isEmpty }
    guard secrets == 0 || secrets == read.count else { throw .mixedKeys }
    var kept: [(index: Int, key: JWK)] = []
    for twins in Dictionary(grouping: read, by: { $0.key.label }).values {
      let different = Dictionary(grouping: twins, by: { $0.key.digest })
      guard different.count == 1 || twins[0].key.keyID == nil else {
        let reason = "another key has the same kid, kty, crv and alg"
        skipped += twins.map {
          Skipped(index: $0.index, keyID: $0.key.keyID, reason: .invalidJWK(reason: reason))
        }
        continue
      }
      kept += different.values.map { $0[0] }
    }
    self.keys = kept.sorted { $0.index < $1.index }.map(\.key)
    self.skipped = skipped.sorted { $0.index < $1.index }
  }

  /// The keys that may verify a token: those with its `kid` that allow its algorithm (RFC 7517 §4.5), two at
  /// most. A token without a `kid` can be verified only if exactly one key allows its algorithm.
  ///
  /// - Parameter algorithm: The token's `alg`.
  /// - Returns: Nil if the token identifies no key of the set; an unknown `kid` never falls back to another
  ///   key. Empty if the key does not allow the algorithm.
  public func candidates(named keyID: String?, algorithm: String) -> [JWK]? {
    let fitting = keys.filter { $0.allows(algorithm) }
    guard let keyID else { return fitting.count == 1 || keys.count == 1 ? fitting : nil }
    func isNamed(_ key: JWK) -> Bool { key.keyID?.hasSameBytes(as: keyID) == true }
    return keys.contains(where: isNamed) ? fitting.filter(isNamed) : nil
  }
}

/// The reason why a text is not a JWK set.
public enum JWKSetError: Error, Hashable, Sendable, CustomStringConvertible {
  case notJSON(JSONError)
  case noKeys, mixedKeys

  public var description: String {
    switch self {
    case .notJSON(let error): "the key set is not JSON: \(error)"
    case .noKeys: "the key set is not an object with an array named keys"
    case .mixedKeys: "the key set mixes secrets with public keys"
    }
  }
}
