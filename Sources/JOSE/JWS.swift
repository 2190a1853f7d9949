// Signs and verifies JSON Web Signatures in compact form.

public import JSON

/// JSON Web Signature in compact form (RFC 7515 §3.1, §7.1).
public enum JWS {
  /// The maximum length of a token, in bytes, unless its reader sets another limit.
  public static let maximumBytes = 8192
  /// The number of seconds by which the `iat` of a JWT is set back if another server checks it. Issuers
  /// refuse an `iat` in the future, some without leeway, and their clocks may be behind this machine's.
  public static let issuedAtMargin: Int64 = 30

  /// Signs a token. If the header has no `alg`, this function adds the signer's; another value there is a
  /// bug.
  ///
  /// - Throws: `OpenSSLError` when signing fails.
  public static func sign(
    header: JSONObject, payload: [UInt8], with signer: Signer
  ) throws(OpenSSLError) -> String {
    var token = signingInput(header: header, algorithm: signer.algorithm.rawValue, payload: payload)
    let signature = try signer.sign(token)
    return finished(&token, signature)
  }

  /// The octets that a token's signature covers, for an external signer. `alg` must be in the header.
  public static func signingInput(header: JSONObject, payload: [UInt8]) -> [UInt8] {
    guard let algorithm = header["alg"]?.string else { preconditionFailure("a header without an algorithm") }
    return signingInput(header: header, algorithm: algorithm, payload: payload)
  }

  /// The token for a signing input and a signature in JWS form.
  public static func token(_ signingInput: [UInt8], signature: [UInt8]) -> String {
    var token = signingInput
    return finished(&token, signature)
  }

  /// Makes a token with a shared secret.
  public static func sign(header: JSONObject, payload: [UInt8], with key: SymmetricKey) -> String {
    var token = signingInput(header: header, algorithm: key.algorithm.rawValue, payload: payload)
    let code = key.code(token)
    return finished(&token, code)
  }

  /// The start of a token, which its signature covers. The signature is appended to the same array, so that
  /// an assertion needs few allocations besides its signature.
  private static func signingInput(header: JSONObject, algorithm: String, payload: [UInt8]) -> [UInt8] {
    var full = header
    if let named = header["alg"] {
      precondition(named.string == algorithm, "the header names another algorithm")
    } else {
      full = ["alg": .string(algorithm)]
      for (name, value) in header.members { full.append(name, value) }
    }
    var input: [UInt8] = []
    // Room for Base64, which needs 4/3 of the bytes, for the dots and for the longest usual signature.
    input.reserveCapacity((payload.count + 128) * 4 / 3 + 180)
    Base64URL.append(full.serialized(), to: &input)
    input.append(UInt8(ascii: "."))
    Base64URL.append(payload, to: &input)
    return input
  }

  private static func finished(_ token: inout [UInt8], _ signature: [UInt8]) -> String {
    token.append(UInt8(ascii: "."))
    Base64URL.append(signature, to: &token)
    return String(decoding: token, as: UTF8.self)
  }

  /// A parsed token. Trust nothing in it until `verify` has succeeded.
  public struct Compact: Sendable {
    /// The protected header. This type uses no key from it (`jwk`, `jku`, `x5c`, `x5u`). Only a DPoP proof
    /// brings its key in `jwk` (RFC 9449 §4.2).
    public let header: JSONObject
    /// The content that is signed.
    public let payload: [UInt8]
    public let signature: [UInt8]
    /// The header's `alg`, as the sender states it. Compare it with the expected one.
    public let algorithmName: String
    private let signingInput: [UInt8]

    /// Parses a token: three Base64url parts without padding, and a header that is an object with unique
    /// names and an `alg` other than `none`. `crit` is refused, because no extension is supported, and so is
    /// a `b64` other than true.
    public init(parsing token: [UInt8], maximumBytes: Int = JWS.maximumBytes) throws(JWSError) {
      guard token.count <= maximumBytes else { throw .tooLong }
      let parts = token.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count == 3 else { throw .notThreeParts }
      guard let headerBytes = Base64URL.decode(token.span.extracting(parts[0].indices)),
        let payload = Base64URL.decode(token.span.extracting(parts[1].indices)),
        let signature = Base64URL.decode(token.span.extracting(parts[2].indices))
      else { throw .notBase64URL }
      header = try Self.header(headerBytes, maximumBytes)
      guard let name = header["alg"]?.string else { throw .invalidHeader(.noAlgorithm) }
      guard name.utf8.lowercasedASCII != Array("none".utf8) else { throw .unsecured }
      guard header["crit"] == nil else { throw .criticalExtension }
      guard header["b64"] == nil || header["b64"] == true else { throw .criticalExtension }
      guard header["kid"] == nil || header["kid"]?.string != nil else {
        throw .invalidHeader(.keyIDNotString)
      }
      algorithmName = name
      self.payload = payload
      self.signature = signature
      signingInput = Array(token[..<(parts[2].startIndex - 1)])
    }

    private static func header(_ bytes: [UInt8], _ maximumBytes: Int) throws(JWSError) -> JSONObject {
      let value: JSONValue
      do {
        value = try JSONValue(
          parsing: bytes, limits: JSONLimits(bytes: maximumBytes, depth: 8, members: 64))
      } catch {
        throw .invalidHeader(.notJSON(error))
      }
      guard let object = value.object else { throw .invalidHeader(.notObject) }
      return object
    }

    /// The header's `kid`. It only selects among keys that the verifier already trusts.
    public var keyID: String? { header["kid"]?.string }

    /// Whether the token names this algorithm, the key fits it and the signature is valid. The algorithm must
    /// be one that the key's configuration or its JWK allows, not just the token's own choice.
    public func verify(with key: PublicKey, algorithm: SignatureAlgorithm) -> Bool {
      SignatureAlgorithm(named: algorithmName) == algorithm
        && key.verify(signature: signature, of: signingInput, algorithm: algorithm)
    }

    /// Whether the token names this secret's algorithm and its authentication code is valid.
    public func verify(with key: SymmetricKey) -> Bool {
      algorithmName == key.algorithm.rawValue
        && constantTimeEqual(digest: key.code(signingInput), digest: signature)
    }
  }
}

extension String.UTF8View {
  /// The octets with `A`–`Z` mapped to `a`–`z`. Unicode's rules would also turn other characters into ASCII
  /// letters.
  var lowercasedASCII: [UInt8] { map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
}

/// The reason why a text is not a token that can be verified.
public enum JWSError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Longer than the limit.
  case tooLong
  /// Not three parts with dots between them.
  case notThreeParts
  /// A part is not strict Base64url.
  case notBase64URL
  /// The header does not have the required form.
  case invalidHeader(HeaderProblem)
  /// `alg` is `none`.
  case unsecured
  /// The header demands an extension (`crit`, `b64`), and none is understood.
  case criticalExtension

  /// The mistake in a header.
  public enum HeaderProblem: Hashable, Sendable {
    case notJSON(JSONError)
    case notObject, noAlgorithm, keyIDNotString
  }

  public var description: String {
    switch self {
    case .tooLong: "the token is too long"
    case .notThreeParts: "a token has three parts with dots between them"
    case .notBase64URL: "a part of the token is not Base64url without padding"
    case .invalidHeader(.notJSON(let error)): "the token's header is not JSON: \(error)"
    case .invalidHeader(.notObject): "the token's header is not an object"
    case .invalidHeader(.noAlgorithm): "the token's header has no alg"
    case .invalidHeader(.keyIDNotString): "the token's kid is not a string"
    case .unsecured: "the token is not signed"
    case .criticalExtension: "the token requires an unsupported extension"
    }
  }
}
