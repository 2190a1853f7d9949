// The protocol of the three senders of notices.

package import Platform

/// Sends notices through one provider. It retries a request only with a new credential or over a new connection.
package protocol NoticeSender: Sendable {
  /// Sends a notice once.
  /// - Parameters:
  ///   - device: A device of this provider.
  ///   - deadline: The time by which the sender returns a verdict.
  func send(_ notice: Notice, to device: PushToken, deadline: MonotonicTime) async -> NoticeVerdict
}
