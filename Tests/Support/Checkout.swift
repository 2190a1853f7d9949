// Where the tests find the other files of the repository.

public import Foundation

/// The checkout that the tests were compiled from.
public enum Checkout {
  /// Its folder.
  public static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
}
