// The id of an installation: a UUID that the app makes.

/// An installation's `client_id`: any UUID, compared without regard to case.
public struct InstallationID: Hashable, Comparable, Sendable, LosslessStringConvertible {
  package let id: StoreID

  package init(_ id: StoreID) { self.id = id }

  /// Reads the 36 characters of a UUID, in either case (RFC 9562 §4); nil for anything else.
  public init?(_ description: String) { self.init(octets: Array(description.utf8).span) }

  /// Reads the 36 characters of a UUID from octets; nil for anything else.
  package init?(octets: Span<UInt8>) {
    guard let id = StoreID(uuid: octets) else { return nil }
    self.id = id
  }

  /// The 16 bytes, the most significant first.
  public var bytes: [UInt8] { id.bytes }

  /// `0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87`: lower-case hex digits with hyphens.
  public var description: String { id.uuid }

  public static func < (a: Self, b: Self) -> Bool { a.id < b.id }
}
