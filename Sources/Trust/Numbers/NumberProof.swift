// Verifies the tokens of Firebase Phone Number Verification, each of which proves one number:
// https://firebase.google.com/docs/phone-number-verification.

public import JOSE
import JSON
import Texts

/// The reason why a proof of a number is invalid, in words for operators.
public enum NumberProofFault: String, CaseIterable, Error, Sendable {
  case malformed = "the proof cannot be read"
  case wrongAlgorithm = "the proof is not signed by ES256"
  case unknownKey = "the proof names no key of the issuer"
  case badSignature = "the proof has a wrong signature"
  case wrongIssuer = "the proof is of another issuer or project"
  case wrongAudience = "the proof is for another project"
  case expired = "the proof has expired"
  case wrongTime = "the proof is of the future, or lives longer than a day"
  case wrongNumber = "the proof is for another number"
}

/// A parsed proof. Only its form was checked.
public struct NumberProof: Sendable {
  /// The maximum length of a proof, in octets.
  public static let maximumBytes = 4096
  package static let algorithm = SignatureAlgorithm.ES256
  /// The maximum lifetime of a proof, in seconds.
  static let longestLife: Double = 86_400
  /// The seconds by which the issuer's clock may be ahead of this server's.
  static let leeway: Double = 60

  private let token: JWS.Compact
  /// The `kid`: the name of the keys that may verify the proof.
  public let keyID: String
  /// SHA-256 of the signed part. Every ECDSA signature has a second valid form, so a digest of the whole
  /// token would not identify the proof.
  public let id: SHA256Digest

  /// Parses a proof: a JWS with `alg` ES256, `typ` JWT and a `kid`.
  public init(parsing octets: [UInt8]) throws(NumberProofFault) {
    do throws(JWSError) {
      token = try JWS.Compact(parsing: octets, maximumBytes: Self.maximumBytes)
    } catch {
      throw error == .unsecured ? .wrongAlgorithm : .malformed
    }
    guard token.algorithmName == Self.algorithm.rawValue else { throw .wrongAlgorithm }
    guard token.header["typ"] == "JWT" else { throw .malformed }
    guard let keyID = token.keyID else { throw .unknownKey }
    self.keyID = keyID
    let end = octets.lastIndex(of: UInt8(ascii: ".")) ?? octets.endIndex
    id = SHA256Digest(of: Array(octets[..<end]))
  }

  /// Verifies the signature, then issuer, audience, times and number.
  ///
  /// - Parameters:
  ///   - keys: The published keys named `keyID` that allow the algorithm.
  ///   - number: In E.164. The subject must be exactly this string.
  ///   - now: Seconds since 1970.
  /// - Returns: `exp`, in seconds since 1970.
  /// - Throws: The first check that fails.
  public func verify(
    with keys: [JWK], of project: AppCheckProject, number: String, now: Double
  ) throws(NumberProofFault) -> Double {
    guard keys.contains(where: { token.verify(with: $0) }) else { throw .badSignature }
    let claims: JWTClaims
    do throws(JWTError) { claims = try JWTClaims(payload: token.payload) } catch { throw .malformed }
    let base = "https://fpnv.googleapis.com/projects/"
    guard claims.issuer?.hasSameBytes(as: base + project.number) == true else { throw .wrongIssuer }
    let names = [base + project.number, base + project.id, project.number, project.id]
    guard let audience = claims.audience, names.contains(where: audience.contains(exactly:)) else {
      throw .wrongAudience
    }
    guard let expirationTime = claims.expirationTime, let issuedAt = claims.issuedAt else { throw .malformed }
    guard now < expirationTime else { throw .expired }
    guard issuedAt <= now + Self.leeway, expirationTime - issuedAt <= Self.longestLife,
      claims.notBefore.map({ $0 <= now + Self.leeway }) ?? true
    else { throw .wrongTime }
    guard claims.subject?.hasSameBytes(as: number) == true else { throw .wrongNumber }
    return expirationTime
  }
}
