/// Which version this is: the one place that says so.
public enum Version {
  /// As `callgate --version` prints it.
  public static let current = "0.1.0"
}
