// The protocol of the three senders of push notifications: APNs, FCM and webhooks.

package import Platform

/// A sender of notifications through one provider. It retries a POST at once only with another credential or
/// over another connection.
package protocol NoticeSender: Sendable {
  /// Tries to send a notification.
  /// - Parameters:
  ///   - device: A device of this provider.
  ///   - deadline: The time by which the sender returns a verdict.
  ///   - posts: The POSTs of this notification so far. At least one more is allowed; the sender counts each
  ///     that it starts.
  func send(
    _ notice: Notice, to device: DeviceAddress, deadline: MonotonicTime, posts: inout NoticePosts
  ) async -> NoticeVerdict
}
