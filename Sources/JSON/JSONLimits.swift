/// How much of a JSON text the parser is willing to look at. Exceeding any of them is an error, not a truncation.
public struct JSONLimits: Hashable, Sendable {
  /// Bytes of the whole text.
  public var bytes: Int
  /// Arrays and objects within each other; `[]` has depth 1. At most 512, so that the parser's recursion is bounded.
  public var depth: Int
  /// Members of one object.
  public var members: Int
  /// Values in the whole text, counting arrays and objects and what they hold.
  public var values: Int

  /// 1 MiB, 32 deep, 256 members an object, 65,536 values.
  public static let `default` = JSONLimits()

  /// Makes limits. Every one must be positive.
  public init(bytes: Int = 1 << 20, depth: Int = 32, members: Int = 256, values: Int = 65_536) {
    precondition(bytes > 0 && members > 0 && values > 0 && (1...512).contains(depth), "a limit out of range")
    self.bytes = bytes
    self.depth = depth
    self.members = members
    self.values = values
  }
}
