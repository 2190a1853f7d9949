// What the disk may have lost of a file, until that is made up for.

internal import Synchronization

/// Whether writing something has failed since all of it was last written once more.
///
/// The kernel tells of a failed write once, and takes what was not written for written from then on (fsync(2)): whoever is told has
/// to remember it for all others. It belongs to the file and not to a connection, since those come and go.
final class SQLiteLoss: Sendable {
  private let failures = Atomic(0)
  private let mended = Atomic(0)

  /// Whether there may be one.
  var isOpen: Bool { failures.load(ordering: .acquiring) != mended.load(ordering: .acquiring) }

  /// Writing has failed.
  func happened() { _ = failures.add(1, ordering: .acquiringAndReleasing) }

  /// Makes up for all that happened before it began.
  func mend(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    let count = failures.load(ordering: .acquiring)
    try body()
    mended.store(count, ordering: .releasing)
  }
}
