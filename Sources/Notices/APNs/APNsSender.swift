// Sends push notifications to Apple devices over one persistent HTTP/2 connection.

package import HTTP
import JOSE
import JSON
package import Platform
import Synchronization

/// A sender of notifications through APNs.
///
/// All requests share one connection, because APNs treats rapid connecting and disconnecting as an attack.
/// The connection is replaced if APNs requests that, if the connection breaks or its HTTP/2 framing fails, or
/// if a request was sent and not answered in time. A connection that is less than ten seconds old is not
/// replaced.
package final class APNsSender: NoticeSender {
  /// APNs' maximum size of a payload, in octets, except for VoIP pushes.
  static let longestPayload = 4096
  /// The maximum size of a response, in bytes. An error has fewer than 100.
  private static let longestReply = 4096
  /// The minimum age at which a connection is replaced.
  static let shortestConnection = Duration.seconds(10)

  private struct Connection {
    var transport: any HTTPTransport
    var madeAt: MonotonicTime
  }

  private let settings: APNsSettings
  private let tokens: ProviderTokens
  private let connect: @Sendable () -> (any HTTPTransport)?
  private let time: any TimeSource
  private let connection: Mutex<Connection>

  /// Creates a sender.
  ///
  /// - Parameters:
  ///   - transport: A transport with one HTTP/2 connection (`Multiplexing`) that only this sender uses.
  ///   - connect: Makes a new transport of the same kind. If it returns nil, the sender keeps the current
  ///     one.
  package init(
    _ settings: APNsSettings, transport: any HTTPTransport,
    connect: @escaping @Sendable () -> (any HTTPTransport)?, time: any TimeSource
  ) {
    self.settings = settings
    self.connect = connect
    self.time = time
    tokens = ProviderTokens(settings, time: time)
    connection = Mutex(Connection(transport: transport, madeAt: time.now))
  }

  /// Drops the provider tokens.
  package func forgetTokens() { tokens.forget() }

  package func send(
    _ notice: Notice, to device: DeviceAddress, deadline: MonotonicTime, posts: inout NoticePosts
  ) async -> NoticeVerdict {
    precondition(device.platform == .apns, "a device of another provider")
    let payload = Self.payload(notice)
    guard payload.count <= Self.longestPayload else {
      return .giveUp(reason: "APNs: a payload of \(payload.count) octets; check notices.texts")
    }
    let content = OutboundContent(payload)
    do throws(OpenSSLError) {
      return try await send(notice, to: device, content, deadline, &posts)
    } catch {
      return .stopSender(reason: "APNs: the provider token could not be signed: \(error)")
    }
  }

  private func send(
    _ notice: Notice, to device: DeviceAddress, _ content: OutboundContent, _ deadline: MonotonicTime,
    _ posts: inout NoticePosts
  ) async throws(OpenSSLError) -> NoticeVerdict {
    var token = try tokens.token()
    var hasChangedToken = false
    var hasReconnected = false
    while true {
      let used = connection.withLock { $0 }
      let reaction = await attempt(notice, to: device, content, token, used, deadline, &posts)
      switch reaction {
      case .settled: return reaction.verdict
      case .renewCredential(let atAnyAge, _):
        guard !hasChangedToken, let other = try tokens.replacement(of: token, atAnyAge: atAnyAge) else {
          return reaction.verdict
        }
        (token, hasChangedToken) = (other, true)
      case .useOlderCredential:
        guard !hasChangedToken, let other = tokens.fallback(from: token) else { return reaction.verdict }
        (token, hasChangedToken) = (other, true)
      case .reconnect:
        guard !hasReconnected, replace(used) else { return reaction.verdict }
        hasReconnected = true
      case .sendAgain:
        guard !hasReconnected else { return reaction.verdict }
        _ = replace(used)
        hasReconnected = true
      }
      guard posts.hasMore, !reaction.verdict.isRest else { return reaction.verdictWithoutPosts }
    }
  }

  private func attempt(
    _ notice: Notice, to device: DeviceAddress, _ content: OutboundContent, _ token: ProviderToken,
    _ used: Connection, _ deadline: MonotonicTime, _ posts: inout NoticePosts
  ) async -> Reaction {
    let left = deadline - time.now
    guard left > .zero else { return .settled(.outOfTime("APNs")) }
    posts.begin()
    let request = OutboundRequest(
      method: .post, url: "\(settings.base)/3/device/\(device.exposed)", fields: fields(notice, token),
      content: content, timeout: left, maximumContentLength: Self.longestReply)
    do throws(TransportError) {
      return APNsAnswer.reaction(try await used.transport.send(request), now: time.unixTime)
    } catch {
      if let head = error.head { return APNsAnswer.reaction(head, now: time.unixTime) }
      // After a GOAWAY, libcurl still tries new streams on the old connection, and reports an error of
      // HTTP/2.
      if error.reason == .malformedResponse {
        return .reconnect(otherwise: NoticeVerdict(error, from: "APNs"))
      }
      // The connection may have died silently. No other request should wait for it.
      if error.reason == .timedOut, error.sent, !error.isCurtailed { _ = replace(used) }
      return .withoutAnswer(error, from: "APNs")
    }
  }

  private func fields(_ notice: Notice, _ token: ProviderToken) -> Fields {
    let now = time.unixTime
    // With 0, APNs tries to deliver only once. APNs refuses a time in the past.
    let expiration = notice.secondsLeft(now) > 0 ? notice.ends.seconds : 0
    return [
      "Authorization": token.bearer.exposedString(), "Content-Type": "application/json",
      "apns-topic": settings.topic, "apns-push-type": "alert", "apns-priority": "10",
      "apns-expiration": "\(expiration)", "apns-collapse-id": notice.id.exposed,
      "apns-id": notice.id.publicID,
    ]
  }

  static func payload(_ notice: Notice) -> [UInt8] {
    let payload: JSONObject = ["aps": ["alert": .string(notice.text)], "message": .string(notice.message)]
    return payload.serialized()
  }

  /// Replaces a connection. The old one closes after its last request.
  /// - Returns: Whether the next request uses a newer connection.
  private func replace(_ used: Connection) -> Bool {
    let now = time.now
    // Of concurrent requests, only the first creates a connection, and the others wait for the lock. Creating
    // a connection does no I/O.
    return connection.withLock { connection in
      guard connection.madeAt == used.madeAt else { return true }
      guard now - used.madeAt >= Self.shortestConnection, let transport = connect() else { return false }
      connection = Connection(transport: transport, madeAt: now)
      return true
    }
  }
}
