// Sends push notifications to the operator's own receiver as signed webhooks.

package import HTTP
import JSON
package import Platform

/// A sender that posts each notification as a signed webhook (Standard Webhooks). The content is
/// `{"deviceId", "message"}`.
package final class HookSender: NoticeSender {
  /// The maximum size of a response, in bytes. Its content is not used.
  private static let longestReply = 64 * 1024

  private let url: String
  private let secrets: HookSecrets
  private let transport: any HTTPTransport
  private let time: any TimeSource

  /// Creates a sender.
  /// - Parameter url: The receiver's URL, checked by the caller.
  package init(url: String, secrets: HookSecrets, transport: any HTTPTransport, time: any TimeSource) {
    self.url = url
    self.secrets = secrets
    self.transport = transport
    self.time = time
  }

  package func send(
    _ notice: Notice, to device: DeviceAddress, deadline: MonotonicTime, posts: inout NoticePosts
  ) async -> NoticeVerdict {
    precondition(device.platform == .http, "a device of another provider")
    let reaction = await attempt(notice, to: device, deadline, &posts)
    guard case .sendAgain = reaction, posts.hasMore else { return reaction.verdict }
    return await attempt(notice, to: device, deadline, &posts).verdict
  }

  private func attempt(
    _ notice: Notice, to device: DeviceAddress, _ deadline: MonotonicTime, _ posts: inout NoticePosts
  ) async -> Reaction {
    let left = deadline - time.now
    guard left > .zero else { return .settled(.outOfTime("webhook")) }
    posts.begin()
    let body: JSONObject = ["deviceId": .string(device.exposed), "message": .string(notice.message)]
    let content = body.serialized()
    let id = notice.id.publicID
    let timestamp = time.unixTime.seconds
    let request = OutboundRequest(
      method: .post, url: url,
      fields: [
        "Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": "\(timestamp)",
        "webhook-signature": secrets.signature(id: id, timestamp: timestamp, content: content),
      ], content: content, timeout: left, maximumContentLength: Self.longestReply)
    do throws(TransportError) {
      return .settled(HookAnswer.verdict(try await transport.send(request), now: time.unixTime))
    } catch {
      if let head = error.head { return .settled(HookAnswer.verdict(head, now: time.unixTime)) }
      return .withoutAnswer(error, from: "webhook")
    }
  }
}
