// The protocol for the saved ends of audit chains. They reveal if the last lines of an audit file were
// removed.

import JSON

/// The end of the audit chain that the server has written since one of its starts.
public struct StoredAnchor: Hashable, Sendable {
  /// The name of that start of the server.
  public let boot: String
  /// The number of the chain's last anchor.
  public let sequence: Int64
  /// The authentication code of the last anchor's line, as Base64url.
  public let code: String
  /// The authentication code of the last line that the audit file had when the chain began; empty if there
  /// was no such line, nil if the chain goes to standard output.
  public let follows: String?

  public init(boot: String, sequence: Int64, code: String, follows: String? = nil) {
    self.boot = boot
    self.sequence = sequence
    self.code = code
    self.follows = follows
  }
}

extension StoredAnchor: NamedValue {
  static let prefix = "audit "
  var name: String { boot }
  var members: JSONObject {
    var members: JSONObject = ["seq": .number(JSONNumber(sequence)), "chain": .string(code)]
    if let follows { members["follows"] = .string(follows) }
    return members
  }
  init?(_ name: String, _ members: JSONValue) {
    guard let sequence = members["seq"]?.int(in: 1...Int64.max), let code = members["chain"]?.string else {
      return nil
    }
    self.init(boot: name, sequence: sequence, code: code, follows: members["follows"]?.string)
  }
}

/// A store with the ends of the audit chains, one for each start of a server.
public protocol AuditAnchorStore: Sendable {
  /// The ends of all chains, ordered by the names of the starts.
  func anchors() async throws(StoreError) -> [StoredAnchor]

  /// Saves the end of a chain, and replaces the earlier end of the same chain.
  func save(_ anchor: StoredAnchor) async throws(StoreError)
}
