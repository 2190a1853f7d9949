// Verifies that a client has a private key and signed this request with it (DPoP, RFC 9449).

public import JOSE
import JSON
import Texts

/// A parsed proof. Only its form was checked.
public struct DPoPProof: Sendable {
  /// The maximum length of a proof, in bytes. Proofs from phones have about 600.
  public static let maximumBytes = 4096
  /// Seconds by which `iat` may differ from this server's clock, in either direction.
  public static let window: Double = 60
  /// The only accepted algorithm.
  public static let algorithm = SignatureAlgorithm.ES256

  private let token: JWS.Compact
  private let claims: JWTClaims
  private let id, method, url: String
  private let issuedAt: Double
  /// SHA-256 of the header as it was sent. A client sends the same header with each of its proofs.
  public let headerDigest: SHA256Digest

  /// Parses a proof: a JWT with the claims of RFC 9449 §4.2, the type of a proof, and the algorithm ES256.
  public init(parsing octets: [UInt8]) throws(ProofFault) {
    do throws(JWSError) {
      token = try JWS.Compact(parsing: octets, maximumBytes: Self.maximumBytes)
    } catch {
      throw error == .unsecured ? .wrongAlgorithm : .malformed
    }
    do throws(JWTError) {
      claims = try JWTClaims(payload: token.payload)
    } catch {
      switch error {
      case .notJSON, .notObject: throw .malformed
      case .malformed, .notText, .outOfRange, .missing, .expired, .notYetValid, .issuedInFuture,
        .livesTooLong, .wrongIssuer, .wrongAudience, .wrongType:
        throw .missingClaim
      }
    }
    guard let id = claims.jwtID, !id.utf8.isEmpty, let method = claims["htm"]?.string,
      let url = claims["htu"]?.string, let issuedAt = claims.issuedAt
    else { throw .missingClaim }
    (self.id, self.method, self.url, self.issuedAt) = (id, method, url, issuedAt)
    headerDigest = SHA256Digest(of: Array(octets.prefix { $0 != UInt8(ascii: ".") }))
    guard token.header["typ"] == "dpop+jwt" else { throw .wrongType }
    guard token.algorithmName == Self.algorithm.rawValue else { throw .wrongAlgorithm }
  }

  /// Verifies everything that needs neither the caller nor the store. The signature comes last, because it
  /// costs most: a proof for another request, or without a nonce of this server, costs no verification.
  ///
  /// - Parameters:
  ///   - method: The method of the request.
  ///   - urls: The URLs of the request, without a query. One of them must be the proof's.
  ///   - nonces: The nonces of this server.
  ///   - now: Seconds since 1970.
  ///   - signer: The key in the header, if it was read before.
  ///   - mayVerify: Whether the signature may be verified now. Called only after all other checks have
  ///     passed.
  /// - Returns: The verified proof; nil if `mayVerify` returned false.
  /// - Throws: The first check that fails.
  public func verify(
    method: String, urls: [ComparableURL], nonces: ProofNonces, now: Double, signer known: ProofKey? = nil,
    mayVerify: () -> Bool
  ) throws(ProofFault) -> VerifiedProof? {
    guard !hasPrivateKey else { throw .wrongKey }
    guard self.method.hasSameBytes(as: method) else { throw .wrongMethod }
    guard let url = ComparableURL(self.url), urls.contains(url) else { throw .wrongURL }
    guard let nonce = claims["nonce"]?.string else { throw .noNonce }
    guard nonces.isValid(nonce, now: now) else { throw .wrongNonce }
    guard abs(issuedAt - now) <= Self.window else { throw .wrongTime }
    guard mayVerify() else { return nil }
    let signer = if let known { known } else { try ProofKey(token.header["jwk"]) }
    guard token.verify(with: signer.key, algorithm: Self.algorithm) else { throw .badSignature }
    return VerifiedProof(
      signer: signer, id: id, headerDigest: headerDigest,
      accessToken: claims["ath"]?.string.flatMap { Base64URL.decode($0) }.flatMap { SHA256Digest($0) })
  }

  /// Whether `jwk` has a member of a private key (RFC 7518 §6.2.2, §6.3.2, §6.4.1).
  private var hasPrivateKey: Bool {
    ["d", "k", "p", "q", "dp", "dq", "qi", "oth"].contains { token.header["jwk"]?[$0] != nil }
  }
}

/// The key in a proof's header. Any client can send any key, so compare its thumbprint with the caller's.
///
/// Reading a key costs three times as much as a verification, so the keys of known clients are cached.
public struct ProofKey: Hashable, Sendable {
  let key: PublicKey
  /// The key's thumbprint (RFC 7638).
  let thumbprint: SHA256Digest

  init(_ jwk: JSONValue?) throws(ProofFault) {
    guard let jwk, jwk["kty"] == "EC", jwk["crv"] == "P-256" else { throw .wrongKey }
    do throws(KeyError) { key = try PublicKey(jwk: jwk) } catch { throw .wrongKey }
    thumbprint = key.thumbprint
  }
}

/// A proof that has passed all checks except two: that the key is the caller's, and that the proof was not
/// used before.
public struct VerifiedProof: Hashable, Sendable {
  /// The key that signed the proof.
  public let signer: ProofKey
  /// The thumbprint of the key that signed the proof (RFC 7638).
  public var key: SHA256Digest { signer.thumbprint }
  /// Identifies the proof among all proofs of all keys.
  public let id: SHA256Digest
  /// `ath`: SHA-256 of the access token that the proof is for.
  public let accessToken: SHA256Digest?
  /// SHA-256 of the proof's header.
  public let headerDigest: SHA256Digest

  init(signer: ProofKey, id: String, headerDigest: SHA256Digest, accessToken: SHA256Digest?) {
    self.signer = signer
    self.headerDigest = headerDigest
    // The thumbprint has a fixed length, so no two pairs are the same bytes.
    self.id = SHA256Digest(of: signer.thumbprint.bytes + Array(id.utf8))
    self.accessToken = accessToken
  }
}
