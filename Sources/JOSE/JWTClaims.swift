// Reads the claims of a JSON Web Token and checks issuer, audience, times and type.

public import JSON
import Texts

/// The claims of a JSON Web Token (RFC 7519 §4). Read them only from a token whose signature has been
/// verified.
public struct JWTClaims: Sendable {
  /// Every claim.
  public let members: JSONObject
  /// `iss`.
  public let issuer: String?
  /// `sub`; nil if it is absent or not a string. Neither is an error here, because not every reader needs it.
  public let subject: String?
  /// `aud`; a single string becomes a list of one. Nil if it is absent.
  public let audience: [String]?
  /// `exp`, `nbf` and `iat` in seconds since 1970, fractions kept.
  public let expirationTime: Double?
  public let notBefore: Double?
  public let issuedAt: Double?
  /// `jti`.
  public let jwtID: String?

  /// Reads a payload. A registered claim of the wrong type is an error, not an absent claim; `sub` is the
  /// exception.
  ///
  /// - Parameter maximumBytes: The maximum length of the payload, in bytes.
  public init(payload: [UInt8], maximumBytes: Int = JWS.maximumBytes) throws(JWTError) {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: payload, limits: JSONLimits(bytes: maximumBytes))
    } catch {
      throw .notJSON(error)
    }
    guard let members = value.object else { throw .notObject }
    self.members = members
    issuer = try Self.text("iss", in: members)
    subject = members["sub"]?.string
    jwtID = try Self.text("jti", in: members)
    expirationTime = try Self.time("exp", in: members)
    notBefore = try Self.time("nbf", in: members)
    issuedAt = try Self.time("iat", in: members)
    audience = try Self.audience(in: members)
  }

  /// A claim by its name.
  public subscript(_ name: String) -> JSONValue? { members[name] }

  /// Whether a text can be the subject of a token: 1 to 255 octets, and no control character, which could
  /// forge a line in a log.
  public static func isSubject(_ text: String) -> Bool {
    (1...255).contains(text.utf8.count)
      && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  private static func text(_ name: String, in members: JSONObject) throws(JWTError) -> String? {
    guard let value = members[name] else { return nil }
    guard let text = value.string else { throw .malformed(claim: name) }
    return text
  }

  /// A NumericDate (RFC 7519 §2): seconds, possibly with a fraction, from 1970 to the year 9999.
  private static func time(_ name: String, in members: JSONObject) throws(JWTError) -> Double? {
    guard let value = members[name] else { return nil }
    guard case .number = value else { throw .malformed(claim: name) }
    guard let time = value.double(in: 0...253_402_300_799) else { throw .outOfRange(claim: name) }
    return time
  }

  private static func audience(in members: JSONObject) throws(JWTError) -> [String]? {
    switch members["aud"] {
    case nil: return nil
    case .string(let one): return [one]
    case .array(let several):
      let names = several.compactMap(\.string)
      guard names.count == several.count else { throw .malformed(claim: "aud") }
      return names
    default: throw .malformed(claim: "aud")
    }
  }
}

/// The claims that an accepted token must have.
public struct JWTExpectations: Hashable, Sendable {
  /// The required `iss`, compared byte for byte; nil accepts any `iss`, and tokens without one.
  public var issuer: String?
  /// The name that `aud` must contain; nil accepts any `aud`, and tokens without one.
  public var audience: String?
  /// Seconds by which the other side's clock may differ.
  public var leeway: Int
  /// Whether a token without `exp` is refused.
  public var requiresExpirationTime: Bool
  /// The maximum number of seconds by which `exp` may be ahead of now, besides the leeway; nil for no limit.
  public var maximumLifetime: Int?
  /// The accepted header types (`typ`), in lower case and without `application/`. A token may write its type
  /// in any case, and a token without a type is always accepted. This refuses tokens that the same key signed
  /// for another purpose (RFC 8725 §3.11).
  public var types: Set<String>

  /// Creates expectations. By default, `exp` is required and clocks may differ by 30 seconds.
  public init(
    issuer: String? = nil, audience: String? = nil, leeway: Int = 30, requiresExpirationTime: Bool = true,
    maximumLifetime: Int? = nil, types: Set<String> = ["jwt", "at+jwt"]
  ) {
    self.issuer = issuer
    self.audience = audience
    self.leeway = leeway
    self.requiresExpirationTime = requiresExpirationTime
    self.maximumLifetime = maximumLifetime
    self.types = types
  }
}

extension JWTClaims {
  /// Checks that the claims meet the expectations at a time (RFC 7519 §4.1), with the leeway.
  ///
  /// - Parameter now: seconds since 1970.
  /// - Throws: An error for the first claim that does not meet them.
  public func validate(_ expected: JWTExpectations, now: Double) throws(JWTError) {
    let leeway = Double(expected.leeway)
    if let expirationTime {
      // §4.1.4: "on or after which the JWT MUST NOT be accepted".
      guard now < expirationTime + leeway else { throw .expired }
      if let lifetime = expected.maximumLifetime {
        guard expirationTime <= now + Double(lifetime) + leeway else { throw .livesTooLong }
      }
    } else if expected.requiresExpirationTime {
      throw .missing(claim: "exp")
    }
    if let notBefore { guard now >= notBefore - leeway else { throw .notYetValid } }
    if let issuedAt { guard now >= issuedAt - leeway else { throw .issuedInFuture } }
    if let wanted = expected.issuer {
      guard let issuer else { throw .missing(claim: "iss") }
      guard issuer.hasSameBytes(as: wanted) else { throw .wrongIssuer }
    }
    if let wanted = expected.audience {
      guard let audience else { throw .missing(claim: "aud") }
      guard audience.contains(exactly: wanted) else { throw .wrongAudience }
    }
  }
}

extension JWS.Compact {
  /// Checks that the header type and the claims meet the expectations. Verify the signature first.
  ///
  /// - Parameters:
  ///   - claims: the claims of this token's payload.
  ///   - now: seconds since 1970.
  public func validate(_ claims: JWTClaims, _ expected: JWTExpectations, now: Double) throws(JWTError) {
    try checkType(expected)
    try claims.validate(expected, now: now)
  }

  private func checkType(_ expected: JWTExpectations) throws(JWTError) {
    guard let type = header["typ"] else { return }
    guard var name = type.string?.utf8.lowercasedASCII[...] else { throw .wrongType }
    if name.starts(with: "application/".utf8) { name.removeFirst("application/".utf8.count) }
    guard expected.types.contains(where: { $0.utf8.elementsEqual(name) }) else { throw .wrongType }
  }
}

/// The reason why a token's claims are not accepted.
public enum JWTError: Error, Hashable, Sendable, CustomStringConvertible {
  case notJSON(JSONError)
  case notObject
  /// A claim of the wrong type or form.
  case malformed(claim: String)
  /// A claim that names the user is not a string but, for example, a number.
  case notText(claim: String)
  /// A time before 1970, or after the year 9999.
  case outOfRange(claim: String)
  /// A required claim is missing.
  case missing(claim: String)
  case expired, notYetValid, issuedInFuture, livesTooLong
  case wrongIssuer, wrongAudience, wrongType

  public var description: String {
    switch self {
    case .notJSON(let error): "the claims are not JSON: \(error)"
    case .notObject: "the claims are not an object"
    case .malformed(let claim): "the claim \(claim) is malformed"
    case .notText(let claim): "the claim \(claim) is not a text"
    case .outOfRange(let claim): "the claim \(claim) is out of range"
    case .missing(let claim): "the claim \(claim) is missing"
    case .expired: "the token has expired"
    case .notYetValid: "the token is not valid yet"
    case .issuedInFuture: "the token was issued in the future"
    case .livesTooLong: "the token lives too long"
    case .wrongIssuer: "the token is another issuer's"
    case .wrongAudience: "the token is for another audience"
    case .wrongType: "the token is of another type"
    }
  }
}
