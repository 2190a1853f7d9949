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

  /// The end of a chain.
  public init(boot: String, sequence: Int64, code: String) {
    self.boot = boot
    self.sequence = sequence
    self.code = code
  }

  /// Reads a value of `callgate_meta`; nil for one that no release wrote.
  package init?(_ name: String, stored text: String) {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: Array(text.utf8))
    } catch {
      return nil
    }
    guard name.hasPrefix(Self.prefix), let sequence = value["seq"]?.int(in: 1...Int64.max),
      let code = value["chain"]?.string
    else { return nil }
    self.init(boot: String(name.dropFirst(Self.prefix.count)), sequence: sequence, code: code)
  }

  /// What its name in `callgate_meta` begins with.
  package static let prefix = "audit "
  /// Its name in `callgate_meta`.
  package var storedName: String { Self.prefix + boot }

  /// Its value in `callgate_meta`.
  package var stored: String {
    let object: JSONObject = ["seq": .number(JSONNumber(sequence)), "chain": .string(code)]
    return String(decoding: object.serialized(), as: UTF8.self)
  }
}

/// A store that knows how far each start of a server has written its audit chain.
public protocol AuditAnchorStore: Sendable {
  /// The ends of all chains, by the names of the starts.
  func anchors() async throws(StoreError) -> [StoredAnchor]

  /// Saves the end of a chain, in place of an earlier one.
  func save(_ anchor: StoredAnchor) async throws(StoreError)
}
