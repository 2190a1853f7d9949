// Counts the POSTs of one notice over all attempts to send it.

/// The number of POSTs for one notice: at most three over all attempts and devices, with immediate retries.
package struct NoticePosts: Sendable {
  /// The most POSTs of a notice.
  package static let most = 3

  /// How many POSTs were started.
  package private(set) var count: Int

  /// - Parameter count: How many POSTs earlier attempts started. A negative number counts as 0.
  package init(count: Int = 0) { self.count = max(0, count) }

  /// Whether another POST may start.
  package var hasMore: Bool { count < Self.most }

  /// Counts a POST that starts now.
  package mutating func begin() {
    precondition(hasMore, "a fourth POST of a notice")
    count += 1
  }
}
