// The settings for audit lines, the server's record of what clients and operators did.

extension Configuration {
  /// The settings for audit lines: their file, their protection against tampering, and whether requests wait
  /// for them.
  public struct Audit: Sendable, Hashable {
    /// Whether each line has a code that ties it to the line before.
    public let chain: Bool
    /// The file; nil for stdout.
    public let file: String?
    /// Whether an action that needs an audit line waits until the line is on disk.
    public let isRequired: Bool
  }
}
