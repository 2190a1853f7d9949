/// The version of Callgate, which is defined only here.
public enum Version {
  /// The version as `callgate --version` prints it, before the commit.
  public static let current = "0.2.0"
}
