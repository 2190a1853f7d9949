// What a configuration says about audit lines.

extension Configuration {
  /// Where audit lines go, and how changes of them show.
  public struct Audit: Sendable, Hashable {
    /// Whether each line is tied to the one before by a code.
    public let chain: Bool
    /// The file; nil for stdout.
    public let file: String?
    /// Whether what needs an audit line waits until the line is on the disk.
    public let isRequired: Bool
  }
}
