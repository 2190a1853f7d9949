/// The limits of the JSON parser. A text beyond a limit is an error and is never truncated.
public struct JSONLimits: Hashable, Sendable {
  /// The maximum length of the whole text, in bytes.
  public var bytes: Int
  /// The maximum depth of arrays and objects within each other; `[]` has depth 1. At most 512, so that the
  /// parser's recursion is bounded.
  public var depth: Int
  /// The maximum number of members of one object.
  public var members: Int
  /// The maximum number of values in the whole text: arrays, objects and their contents all count.
  public var values: Int

  /// The limits of the parser if none are given: 1 MiB, 32 deep, 256 members per object, 65,536 values.
  public static let `default` = JSONLimits()

  /// Creates limits. Each must be positive.
  public init(bytes: Int = 1 << 20, depth: Int = 32, members: Int = 256, values: Int = 65_536) {
    precondition(bytes > 0 && members > 0 && values > 0 && (1...512).contains(depth), "a limit out of range")
    self.bytes = bytes
    self.depth = depth
    self.members = members
    self.values = values
  }
}
