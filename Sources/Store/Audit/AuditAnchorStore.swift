// The protocol for the ends of audit chains, so that a file without its last lines is found.

import JSON

/// How far a start of the server had written its audit chain.
public struct StoredAnchor: Hashable, Sendable {
  /// The name of the start.
  public let boot: String
  /// The number of the chain's last anchor.
  public let sequence: Int64
  /// The code of that line, as Base64url.
  public let code: String
  /// The code of the line that the chain's first one followed in its file; empty for a new file, nil for none.
  public let follows: String?

  /// The end of a chain.
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

/// A store that knows how far each start of a server has written its audit chain.
public protocol AuditAnchorStore: Sendable {
  /// The ends of all chains, by the names of the starts.
  func anchors() async throws(StoreError) -> [StoredAnchor]

  /// Saves the end of a chain, in place of an earlier one.
  func save(_ anchor: StoredAnchor) async throws(StoreError)
}
