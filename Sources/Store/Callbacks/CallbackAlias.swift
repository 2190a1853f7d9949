// The name by which clients of another interface know a callback, and how callbacks are found by it.

public import JOSE
public import Texts

/// What a record keeps for an interface that has names of its own for callbacks. Neither the name nor the number can be read from it.
public struct CallbackAlias: Hashable, Sendable {
  /// SHA-256 of the name, which is unguessable.
  public let name: SHA256Digest
  /// A keyed hash of owner and number. The key is none of the store's.
  public let number: SHA256Digest
  /// The service of that interface by which the callback was made.
  @Exact public private(set) var service: String

  /// An alias.
  public init(name: SHA256Digest, number: SHA256Digest, service: String) {
    self.name = name
    self.number = number
    self.service = service
  }

  /// Reads the columns of a record; nil where it has none.
  package init?(_ name: SHA256Digest?, _ number: SHA256Digest?, _ service: String?) {
    guard let name, let number, let service else { return nil }
    self.init(name: name, number: number, service: service)
  }
}

/// What replaces the hash of a number, and the content of the same appointment.
public struct AliasRenewal: Hashable, Sendable {
  /// The hash of owner and number.
  public let number: SHA256Digest
  /// The sealed content.
  public let content: [UInt8]

  /// A renewal.
  public init(number: SHA256Digest, content: [UInt8]) {
    self.number = number
    self.content = content
  }
}

/// Selects records by their alias.
public enum AliasQuery: Hashable, Sendable {
  /// The record of a name.
  case name(SHA256Digest)
  /// Those of an owner and number, by the hashes that keys in use make of them.
  case numbers([SHA256Digest])

  /// How many are read at most.
  package static let most = 1000
}
