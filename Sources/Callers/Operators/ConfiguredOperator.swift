// The settings of operators: names, roles, tokens, and the issuer of their JWTs.

public import Gate

/// An operator with a token.
public struct ConfiguredOperator: Sendable {
  public let name: String
  public let role: Operator.Role
  /// SHA-256 of the token.
  public let token: SecretDigest

  package init(name: String, role: Operator.Role, token: SecretDigest) {
    self.name = name
    self.role = role
    self.token = token
  }
}

/// The identity provider that issues operators' JWTs.
public struct OperatorIssuer: Sendable {
  /// The issuer. Its subject claim contains the operator's name.
  public let issuer: JWTIssuer
  /// The claim with the operator's groups. Nil without `role`: then every operator has the role `read`.
  package let roleClaim: String?
  /// The values of that claim for each role.
  package let groups: [Operator.Role: [String]]

  package init(issuer: JWTIssuer, roleClaim: String?, groups: [Operator.Role: [String]]) {
    self.issuer = issuer
    self.roleClaim = roleClaim
    self.groups = groups
  }
}
