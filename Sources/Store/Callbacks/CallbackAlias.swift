// The hashes by which another API (GMS) finds a callback, and the queries that use them.

public import JOSE
public import Texts

/// The data by which another API, with its own names for callbacks, finds a callback. They reveal neither the
/// name nor the phone number.
public struct CallbackAlias: Hashable, Sendable {
  /// SHA-256 of the callback's name in that API, which cannot be guessed.
  public let name: SHA256Digest
  /// A keyed hash of owner and number. The store never sees the key.
  public let number: SHA256Digest
  /// The service of that API by which the callback was requested.
  @Exact public private(set) var service: String

  public init(name: SHA256Digest, number: SHA256Digest, service: String) {
    self.name = name
    self.number = number
    self.service = service
  }

  /// Reads the columns of a record; nil if they are empty.
  package init?(_ name: SHA256Digest?, _ number: SHA256Digest?, _ service: String?) {
    guard let name, let number, let service else { return nil }
    self.init(name: name, number: number, service: service)
  }
}

/// A new hash of owner and number for an appointment, with the appointment's new sealed content.
public struct AliasRenewal: Hashable, Sendable {
  /// The hash of owner and number.
  public let number: SHA256Digest
  public let content: [UInt8]

  public init(number: SHA256Digest, content: [UInt8]) {
    self.number = number
    self.content = content
  }
}

/// Selects records by their alias.
public enum AliasQuery: Hashable, Sendable {
  /// The record with this name's digest.
  case name(SHA256Digest)
  /// The records of an owner and number: the hash of both under each store key in use.
  case numbers([SHA256Digest])

  /// The maximum number of records that a query reads.
  package static let most = 1000
}
