// Finds the operator who sent a request by its Bearer token.

package import Gate
package import JOSE
package import Platform
import Texts

/// The operators of one configuration.
package final class OperatorRegistry: Sendable {
  private let tokens: [(digest: SHA256Digest, holder: Operator)]
  private let issuer: OperatorIssuer?
  /// Verifies operators' JWTs. Without `admin.jwt`, it has no issuer.
  package let jwt: JWTAuthenticator
  /// Whether operators have names. If so, the listener on loopback requires a token, too.
  package let isNamed: Bool

  /// - Parameters:
  ///   - adminToken: SHA-256 of the admin token (`admin.token_file`).
  ///   - source: Finds the key set at a URL.
  package init(
    _ operators: [ConfiguredOperator] = [], adminToken: SHA256Digest? = nil, issuer: OperatorIssuer? = nil,
    source: (String) -> KeySource
  ) {
    tokens =
      (adminToken.map { [($0, Operator.admin)] } ?? [])
      + operators.map { ($0.token.value, Operator(Operator.Identity($0.name, by: .token), $0.role)) }
    self.issuer = issuer
    jwt = JWTAuthenticator(
      issuer.map { [ConfiguredCaller(id: Self.issuerID, proof: .jwt($0.issuer))] } ?? [], source: source)
    isNamed = !operators.isEmpty || issuer != nil
  }

  /// The id of the operators' issuer in readiness checks and in the attention list. Other issuers have the id
  /// of their caller.
  package static let issuerID = "admin.jwt"

  /// Whether no token opens the admin interface.
  package var isEmpty: Bool { tokens.isEmpty && issuer == nil }

  package enum Outcome {
    /// The operator who sent the token. The role is nil for a genuine JWT without a group that has one.
    case by(Operator.Identity, Operator.Role?)
    /// The token is refused. `isGuess`: no operator has it, and the issuer did not sign it.
    case refused(String, isGuess: Bool)
    /// The server does not know the token's key yet. Fetch the keys, then try again.
    case fetchFirst(KeySource)
    /// The server could not fetch the issuer's keys.
    case unavailable(retryAfter: Duration)
  }

  /// Finds the operator who sent a token.
  /// - Parameter fetched: Whether the keys were already fetched for this token.
  package func identify(
    _ token: [UInt8], fetched: Bool, now: UnixTime, at moment: MonotonicTime
  ) -> Outcome {
    let digest = SHA256Digest(of: token)
    // Compare every digest, so that the time does not depend on the token.
    var holder: Operator?
    for entry in tokens where entry.digest == digest { holder = entry.holder }
    if let holder { return .by(holder.identity, holder.role) }
    guard let issuer else { return .refused(unknown, isGuess: true) }
    switch jwt.authenticate(token, fetched: fetched, now: now, at: moment) {
    case .caller(let caller): return Self.identify(caller, issuer)
    case .notOurs(.unreadable): return .refused(unknown, isGuess: true)
    case .notOurs(let fault): return .refused(fault.sentence, isGuess: true)
    case .refused(let fault, let isForged): return .refused(fault.sentence, isGuess: isForged)
    case .fetchFirst(let source): return .fetchFirst(source)
    case .unavailable(let wait): return .unavailable(retryAfter: wait)
    }
  }

  private var unknown: String { isNamed ? "No operator has this token." : "This is not the admin token." }

  /// Reads name and role from the claims of a verified JWT.
  private static func identify(_ caller: Caller, _ issuer: OperatorIssuer) -> Outcome {
    guard caller.key == nil else {
      return .refused("The token is bound to a key, which operators cannot prove here.", isGuess: false)
    }
    guard Operator.isName(caller.subject) else {
      return .refused(
        "The token does not name an operator: 1 to \(Operator.longestName) visible characters.",
        isGuess: false)
    }
    let identity = Operator.Identity(caller.subject, by: .jwt)
    guard let claim = issuer.roleClaim else { return .by(identity, .read) }
    let groups: [String] =
      switch caller.claims.first(where: { $0.name.hasSameBytes(as: claim) })?.value {
      case .string(let group): [group]
      case .array(let values): values.compactMap { if case .string(let group) = $0 { group } else { nil } }
      default: []
      }
    let role = Operator.Role.allCases.last { role in
      issuer.groups[role]?.contains { groups.contains(exactly: $0) } == true
    }
    return .by(identity, role)
  }
}
