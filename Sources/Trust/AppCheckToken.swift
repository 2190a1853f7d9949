// Verifies the tokens of Firebase App Check:
// https://firebase.google.com/docs/app-check/custom-resource-backend.

public import JOSE
import JSON
public import Texts

/// A Firebase project whose tokens are accepted.
public struct AppCheckProject: Hashable, Sendable {
  /// The project's number: digits.
  public let number: String
  public let id: String

  public init(number: String, id: String) {
    self.number = number
    self.id = id
  }

  /// The `iss` of the project's tokens.
  public var issuer: String { "https://firebaseappcheck.googleapis.com/\(number)" }

  /// The names of the project in `aud`. A token must have at least one of them.
  var audiences: [String] { ["projects/\(number)", "projects/\(id)"] }
}

/// The claims of a token that has passed all checks except the one of its app.
public struct AppCheckClaims: Hashable, Sendable {
  /// `sub`: the Firebase app id, such as `1:1234567890:ios:0123456789abcdef`.
  @Exact public private(set) var appID: String
  /// `exp`, in seconds since 1970. The token is invalid from then on. Google's clock set this time, so there
  /// is no leeway.
  public let expirationTime: Double
}

/// A parsed token of App Check. Only its form was checked.
public struct AppCheckToken: Sendable {
  /// The maximum length of a token, in bytes. Google's tokens have about 1,000.
  public static let maximumBytes = 4096
  /// The algorithm of every token.
  package static let algorithm = SignatureAlgorithm.RS256
  /// The maximum life of a token, in seconds: the longest that the Firebase console offers.
  static let longestLife: Double = 7 * 86_400
  /// Seconds by which Google's clock may be ahead of this server's.
  static let leeway: Double = 60

  private let token: JWS.Compact
  /// The `kid`: the name of the keys that may verify the token.
  public let keyID: String

  /// Parses a token: a JWS with `alg` RS256, `typ` JWT and a `kid`.
  public init(parsing octets: [UInt8]) throws(AttestationFault) {
    do throws(JWSError) {
      token = try JWS.Compact(parsing: octets, maximumBytes: Self.maximumBytes)
    } catch {
      throw error == .unsecured ? .wrongAlgorithm : .malformed
    }
    guard token.algorithmName == Self.algorithm.rawValue else { throw .wrongAlgorithm }
    guard token.header["typ"] == "JWT" else { throw .malformed }
    guard let keyID = token.keyID else { throw .unknownKey }
    self.keyID = keyID
  }

  /// Verifies the signature, then issuer, audience and times.
  ///
  /// - Parameters:
  ///   - keys: The published keys named `keyID` that allow the algorithm.
  ///   - now: Seconds since 1970.
  /// - Throws: The first check that fails.
  public func verify(with keys: [JWK], of project: AppCheckProject, now: Double) throws(AttestationFault)
    -> AppCheckClaims
  {
    // This uses RS256, because `init` refused every other algorithm.
    guard keys.contains(where: { token.verify(with: $0) }) else { throw .badSignature }
    let claims: JWTClaims
    do throws(JWTError) { claims = try JWTClaims(payload: token.payload) } catch { throw .malformed }
    guard claims.issuer?.hasSameBytes(as: project.issuer) == true else { throw .wrongIssuer }
    // App Check always sends a list, even of one. A token with a single string is not from App Check.
    guard claims["aud"]?.array != nil, let audience = claims.audience,
      project.audiences.contains(where: audience.contains(exactly:))
    else { throw .wrongAudience }
    guard let expirationTime = claims.expirationTime, let issuedAt = claims.issuedAt else {
      throw .malformed
    }
    guard now < expirationTime else { throw .expired }
    guard issuedAt <= now + Self.leeway, expirationTime - issuedAt <= Self.longestLife,
      claims.notBefore.map({ $0 <= now + Self.leeway }) ?? true
    else { throw .wrongTime }
    guard let subject = claims.subject, !subject.utf8.isEmpty else { throw .malformed }
    return AppCheckClaims(appID: subject, expirationTime: expirationTime)
  }
}
