// Where the tests find the other files of the repository.

public import Foundation

/// The checkout from which the tests were compiled.
public enum Checkout {
  /// The checkout's root folder.
  public static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
}
