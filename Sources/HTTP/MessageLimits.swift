// The limits on the size of a request, and the reasons why a request is refused.

/// The limits on the size of a request. Each limit is the largest allowed value.
public struct MessageLimits: Sendable, Equatable {
  /// Octets of the head: the request line, all field lines and the empty line, with their line ends.
  public var headerBytes: Int
  /// Number of field lines; the same limit applies again to trailer lines.
  public var fieldLines: Int
  /// Octets of content, without transfer coding.
  public var contentBytes: Int

  /// Makes limits; the defaults are those of the configuration reference.
  public init(headerBytes: Int = 16_384, fieldLines: Int = 100, contentBytes: Int = 65_536) {
    self.headerBytes = headerBytes
    self.fieldLines = fieldLines
    self.contentBytes = contentBytes
  }
}

/// The reason why a request is refused.
public enum ParseFailure: Error, Hashable, Sendable {
  /// Not a request by RFC 9112: 400.
  case malformed
  /// The request line alone exceeds `headerBytes`: 414.
  case targetTooLong
  /// More than `headerBytes` or `fieldLines`: 431.
  case fieldsTooLarge
  /// More than `contentBytes`, or far more chunk overhead than content: 413.
  case contentTooLarge
}
