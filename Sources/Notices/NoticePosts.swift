// Counts the POSTs of one notice, over all its tries.

/// The POSTs of one notice: at most three, over all tries and devices, and those that a sender repeats at once.
package struct NoticePosts: Sendable {
  /// The most POSTs of a notice.
  package static let most = 3

  /// How many were begun.
  package private(set) var count: Int

  /// - Parameter count: How many were begun by earlier tries; less than none counts as none.
  package init(count: Int = 0) { self.count = max(0, count) }

  /// Whether another POST may be begun.
  package var hasMore: Bool { count < Self.most }

  /// Counts a POST that is begun now.
  package mutating func begin() {
    precondition(hasMore, "a fourth POST of a notice")
    count += 1
  }
}
