// The operator of an admin request: name, proof and role.

import Texts

/// An operator: an identity and a role. The admin interface determines the operator of each request.
public struct Operator: Hashable, Sendable {
  /// The permissions of an operator. Each role includes the permissions of the roles before it.
  public enum Role: String, CaseIterable, Comparable, Sendable {
    /// Read the state, lists and decisions.
    case read
    /// Also find an enrollment request by its user code, approve, deny and revoke installations, and block
    /// and unblock numbers.
    case approve
    /// Also pause, resume and reload.
    case operate

    public static func < (a: Role, b: Role) -> Bool {
      allCases.firstIndex(of: a) ?? 0 < allCases.firstIndex(of: b) ?? 0
    }
  }

  /// The way in which a request proved its operator.
  public enum Proof: String, Sendable {
    case token, jwt
    /// The request came from this machine, to a listener that requires no token.
    case local
  }

  /// The operator's name and proof, as the store and audit lines contain them.
  public struct Identity: Hashable, Sendable {
    /// 1–64 visible characters, with spaces inside.
    public let name: String
    public let by: Proof

    public init(_ name: String, by: Proof) {
      self.name = name
      self.by = by
    }

    /// Reads the columns of a row. Nil for a row that an earlier release wrote.
    public init?(name: String?, by: String?) {
      guard let name, let by = by.flatMap(Proof.init(rawValue:)) else { return nil }
      self.init(name, by: by)
    }
  }

  public let identity: Identity
  public let role: Role

  public init(_ identity: Identity, _ role: Role) {
    self.identity = identity
    self.role = role
  }

  /// The operator of every request to an open listener on loopback.
  public static let local = Operator(Identity("local", by: .local), .operate)
  /// The operator with the one admin token (`admin.token_file`).
  public static let admin = Operator(Identity("admin", by: .token), .operate)
}

extension Operator {
  /// The maximum number of Unicode scalars in a name.
  public static let longestName = 64

  /// Whether a text is a valid name: visible characters, with spaces inside but not at an end.
  public static func isName(_ text: String) -> Bool {
    let scalars = text.unicodeScalars
    guard (1...longestName).contains(scalars.count), scalars.first?.value != 0x20, scalars.last?.value != 0x20
    else {
      return false
    }
    return scalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .control, .privateUse, .unassigned: false
      default: !scalar.isUnseen
      }
    }
  }
}
