// Sends push notifications through Firebase Cloud Messaging.

package import HTTP
import JOSE
import JSON
package import Platform

/// A sender of notifications through FCM's HTTP v1 API.
package final class FCMSender: NoticeSender {
  /// The maximum size of a response, in bytes.
  private static let longestReply = 64 * 1024

  private let settings: FCMSettings
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let tokens: GoogleTokens

  /// Creates a sender. It sends nothing to Google before the first notification or `check`.
  /// - Parameter jitter: Returns a random number in 0..<1, which spreads renewals and retries over time.
  package init(
    _ settings: FCMSettings, transport: any HTTPTransport, time: any TimeSource,
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    self.settings = settings
    self.transport = transport
    self.time = time
    tokens = GoogleTokens(settings.access, transport: transport, time: time, jitter: jitter)
  }

  /// Requests an access token once. Returns the reason if there is none, and nil on success.
  package func check() async -> GoogleTokens.Failure? { await tokens.check() }

  /// Drops earlier failures, so that the next notification without a valid access token requests one. A valid
  /// token stays.
  package func startAnew() { tokens.startAnew(keepingToken: true) }

  /// Drops earlier failures and the access token.
  package func forgetTokens() { tokens.startAnew(keepingToken: false) }

  package func send(
    _ notice: Notice, to device: DeviceAddress, deadline: MonotonicTime, posts: inout NoticePosts
  ) async -> NoticeVerdict {
    precondition(device.platform == .fcm, "a device of another provider")
    var hasChangedToken = false
    var isRepeated = false
    while true {
      let token: GoogleToken
      switch await tokens.token(by: deadline) {
      case .success(let usable): token = usable
      case .failure(let failure): return failure.verdict
      }
      let reaction = await attempt(notice, to: device, token, deadline, &posts)
      switch reaction {
      case .renewCredential:
        // Also invalidate the replacement if FCM refuses it, so that the next attempt of a stopped sender
        // requests a new one.
        tokens.invalidate(token)
        guard !hasChangedToken else { return reaction.verdict }
        hasChangedToken = true
      case .sendAgain where !isRepeated: isRepeated = true
      case .settled, .useOlderCredential, .reconnect, .sendAgain: return reaction.verdict
      }
      guard posts.hasMore else { return reaction.verdictWithoutPosts }
    }
  }

  private func attempt(
    _ notice: Notice, to device: DeviceAddress, _ token: GoogleToken, _ deadline: MonotonicTime,
    _ posts: inout NoticePosts
  ) async -> Reaction {
    let left = deadline - time.now
    guard left > .zero else { return .settled(.outOfTime("FCM")) }
    posts.begin()
    let request = OutboundRequest(
      method: .post, url: settings.url,
      fields: [
        "Authorization": token.bearer.exposedString(), "Content-Type": "application/json",
        "Accept": "application/json",
      ],
      content: Self.content(notice, to: device, now: time.unixTime), timeout: left,
      maximumContentLength: Self.longestReply)
    do throws(TransportError) {
      return FCMAnswer.reaction(try await transport.send(request), now: time.unixTime)
    } catch {
      if let head = error.head { return FCMAnswer.reaction(head, now: time.unixTime) }
      return .withoutAnswer(error, from: "FCM")
    }
  }

  /// The body. FCM slows down urgent messages that show the user nothing, so the body has a text to show.
  static func content(_ notice: Notice, to device: DeviceAddress, now: UnixTime) -> [UInt8] {
    let body: JSONObject = [
      "message": [
        "token": .string(device.exposed), "data": ["message": .string(notice.message)],
        "notification": ["body": .string(notice.text)],
        "android": ["priority": "high", "ttl": .string("\(notice.secondsLeft(now))s")],
      ]
    ]
    return body.serialized()
  }
}
