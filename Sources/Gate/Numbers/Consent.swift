// A customer's consent to be called, as a request states it and as a record saves it.

import Platform
public import Texts

/// The consent in a request: the name of the text that the customer saw, and when the customer agreed.
public struct GivenConsent: Hashable, Sendable {
  @Exact public private(set) var text: String
  public let at: Instant

  public init(text: String, at: Instant) {
    self.text = text
    self.at = at
  }
}

/// A text that customers agree to.
public struct ConsentText: Hashable, Sendable {
  /// The text's name in requests, such as `v3`.
  @Exact public private(set) var name: String
  /// The SHA-256 of the text, 64 hex digits in lower case.
  public let digest: String

  public init(name: String, digest: String) {
    self.name = name
    self.digest = digest
  }
}

/// The consent in a record. The audit line has the same members and remains as evidence.
public struct StoredConsent: Hashable, Sendable {
  @Exact public private(set) var text: String
  public let at: Instant
  /// The first 16 digits of the text's digest.
  public let digest: String

  public init(_ consent: GivenConsent, to text: ConsentText) {
    self.text = text.name
    at = consent.at
    digest = String(text.digest.prefix(16))
  }

  /// The consent as text for the store's column.
  package var stored: String { "\(at.seconds) \(digest) \(text)" }

  /// Reads a result of `stored`; nil for anything else.
  package init?(stored: String) {
    let parts = stored.utf8
      .split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard parts.count == 3, let seconds = Int64(parts[0]) else { return nil }
    text = parts[2]
    at = Instant(seconds: seconds)
    digest = parts[1]
  }
}
