// The protocol of the three senders of notices.

package import Platform

/// Sends notices by one provider. It repeats what a new credential or connection mends, and nothing else.
package protocol NoticeSender: Sendable {
  /// Sends a notice once.
  /// - Parameters:
  ///   - device: A device of this provider.
  ///   - deadline: When the verdict is there at the latest.
  func send(_ notice: Notice, to device: PushToken, deadline: MonotonicTime) async -> NoticeVerdict
}
