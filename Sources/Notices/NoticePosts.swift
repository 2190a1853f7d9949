// Counts the POSTs of one notification over all attempts to send it.

/// The number of POSTs for one notification: at most three over all attempts and devices, including immediate
/// retries.
package struct NoticePosts: Sendable {
  /// The maximum number of POSTs for a notification.
  package static let most = 3

  /// The number of POSTs that were started.
  package private(set) var count: Int

  /// - Parameter count: The number of POSTs that earlier attempts started. A negative number counts as 0.
  package init(count: Int = 0) { self.count = max(0, count) }

  /// Whether another POST may start.
  package var hasMore: Bool { count < Self.most }

  /// Counts a POST that starts now.
  package mutating func begin() {
    precondition(hasMore, "a fourth POST of a notice")
    count += 1
  }
}
