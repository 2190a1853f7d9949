/// The reason why a client assertion is refused. Each case is one check of `AssertionVerifier` or
/// `ReplayGuard`.
enum AssertionFailure: Error, Hashable, Sendable {
  /// Not a signed JWT in compact form. Includes `alg: none` and critical extensions.
  case malformed
  case wrongType
  case unknownKeyID
  case wrongAlgorithm
  case badSignature
  case claimsNotAnObject
  /// A required header parameter or claim is missing.
  case missing(String)
  /// A date claim that is not a whole number of seconds.
  case notADate(String)
  case wrongIssuer
  case wrongSubject
  case wrongAudience
  case issuedInFuture
  case notYetValid
  case expired
  case livesTooLong
  case unusableJWTID
  case replayed

  /// The failure in words, for `error_description`. Contains no part of the request.
  var explanation: String {
    switch self {
    case .malformed: "the client assertion is not a signed JWT in compact form, or needs an extension"
    case .wrongType: "the client assertion's typ is not JWT"
    case .unknownKeyID: "the client assertion's kid is not a key of this client"
    case .wrongAlgorithm: "the client assertion's alg is not the algorithm registered with the key"
    case .badSignature: "the client assertion's signature does not verify"
    case .claimsNotAnObject: "the client assertion's claims are not a JSON object"
    case .missing(let name): "the client assertion has no \(name)"
    case .notADate(let name): "the client assertion's \(name) is not a whole number of seconds"
    case .wrongIssuer: "the client assertion's iss is not the client id"
    case .wrongSubject: "the client assertion's sub is not the client id"
    case .wrongAudience: "the client assertion's aud is not this token URL"
    case .issuedInFuture: "the client assertion's iat lies in the future"
    case .notYetValid: "the client assertion's nbf lies in the future"
    case .expired: "the client assertion has expired"
    case .livesTooLong: "the client assertion's exp is more than 300 seconds after its iat"
    case .unusableJWTID: "the client assertion's jti is empty, too long or not a string"
    case .replayed: "the client assertion's jti was used before"
    }
  }
}
