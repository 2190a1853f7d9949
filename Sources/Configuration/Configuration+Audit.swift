// The settings for audit lines.

extension Configuration {
  /// Where audit lines go, and whether tampering with them is detectable.
  public struct Audit: Sendable, Hashable {
    /// Whether each line has a code that ties it to the line before.
    public let chain: Bool
    /// The file; nil for stdout.
    public let file: String?
    /// Whether an action that needs an audit line waits until the line is on disk.
    public let isRequired: Bool
  }
}
