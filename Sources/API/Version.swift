/// Which version this is: the one place that says so.
public enum Version {
  /// As `callgate --version` prints it, before the commit.
  public static let current = "0.2.0"
}
