// Gets session tokens for users from Sendbird's platform API, and creates users that Sendbird does not know.

package import HTTP
import JOSE
import JSON
package import Platform
package import Tokens

/// Sendbird's platform API, as far as session tokens need it.
///
/// Requests for tokens and users are harmless when sent twice: an unused token expires, and an existing user
/// is not changed. Tickets and their messages are different (`DeskAPI`).
package struct SendbirdAPI: Sendable {
  /// The maximum size of a reply, in bytes.
  static let longestReply = 64 * 1024
  /// The maximum length of a token, in bytes.
  static let longestToken = 4096
  /// The minimum time left before the deadline for a retry, or for creating a ticket. A later request could
  /// only time out.
  static let shortestAttempt = Duration.milliseconds(250)

  let settings: SendbirdSettings
  private let transport: any HTTPTransport
  let time: any TimeSource
  let retry: RetryPolicy
  let jitter: @Sendable () -> Double

  /// - Parameters:
  ///   - retry: The failures that are retried, and when.
  ///   - jitter: Returns a random number in 0..<1, which spreads the retries.
  package init(
    _ settings: SendbirdSettings, transport: any HTTPTransport, time: any TimeSource,
    retry: RetryPolicy = RetryPolicy(), jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    self.settings = settings
    self.transport = transport
    self.time = time
    self.retry = retry
    self.jitter = jitter
  }

  /// The same Sendbird application with other settings.
  func with(_ settings: SendbirdSettings) -> SendbirdAPI {
    SendbirdAPI(settings, transport: transport, time: time, retry: retry, jitter: jitter)
  }

  /// Gets a session token. Creates the user once if Sendbird does not know the user, and retries temporary
  /// failures, all before the deadline.
  ///
  /// - Parameter observe: Called with a report of each request.
  package func sessionToken(
    for user: UserID, deadline: MonotonicTime, trace: TraceContext? = nil,
    observe: @Sendable (SendbirdReport) -> Void = { _ in }
  ) async throws(SendbirdFailure) -> SessionToken {
    try await persist(creating: user, deadline, trace, observe) { () async throws(SendbirdFailure) in
      try await issue(user, deadline, trace?.child(), observe)
    }
  }

  /// Runs a step that is safe to run twice. Creates the user once if Sendbird does not know the user, and
  /// retries temporary failures, all before the deadline.
  ///
  /// - Parameter nickname: The nickname for a new user.
  func persist<Reply>(
    creating user: UserID, nickname: String = "", _ deadline: MonotonicTime, _ trace: TraceContext?,
    _ observe: @Sendable (SendbirdReport) -> Void, _ body: () async throws(SendbirdFailure) -> Reply
  ) async throws(SendbirdFailure) -> Reply {
    var (needsUser, isCreated, repetitions) = (false, false, 0)
    while true {
      do throws(SendbirdFailure) {
        if needsUser {
          try await create(user, nickname, deadline, trace?.child(), observe)
          needsUser = false
        }
        return try await body()
      } catch {
        if case .unknownUser = error.concern, !isCreated {
          (needsUser, isCreated) = (true, true)
          continue
        }
        // Another instance created the desk customer first.
        let isKnown = if case .knownUser = error.concern { true } else { false }
        let resumption = time.now + retry.delay(before: repetitions + 1, unit: jitter())
        guard repetitions < retry.limit, isKnown || retry.isPassing(error.cause),
          resumption + Self.shortestAttempt < deadline
        else { throw error }
        repetitions += 1
        guard await time.hasSlept(until: resumption) else { throw error }
      }
    }
  }

  /// Checks whether Sendbird accepts the application and its token, by requesting a token for a user that
  /// does not exist. Changes nothing.
  /// - Returns: Nil if Sendbird accepts them.
  package func check() async -> SendbirdFailure? {
    let missing = UserID(text: "callgate-doctor")
    do throws(SendbirdFailure) {
      _ = try await issue(missing, time.now + settings.deadline, nil) { _ in }
      return nil
    } catch {
      return error.concern == .unknownUser ? nil : error
    }
  }

  private func issue(
    _ user: UserID, _ deadline: MonotonicTime, _ trace: TraceContext?, _ observe: (SendbirdReport) -> Void
  ) async throws(SendbirdFailure) -> SessionToken {
    let sent = (time.now, time.unixTime.milliseconds)
    let life = settings.tokenLife
    let end = sent.1.addingClamped(life.nanosecondsClamped / 1_000_000)
    let request = SendbirdRequest(
      .sessionToken, to: .platform, "/v3/users/\(Self.segment(user.text))/token",
      ["expires_at": .number(JSONNumber(end))])
    return try await send(request, deadline, trace, observe) { (content: [UInt8]) throws(UnusableReply) in
      try SessionToken(parsing: content, user: user, sent: sent, life: life)
    }
  }

  /// Creates a user. If the user already exists, that is a success.
  private func create(
    _ user: UserID, _ nickname: String, _ deadline: MonotonicTime, _ trace: TraceContext?,
    _ observe: (SendbirdReport) -> Void
  ) async throws(SendbirdFailure) {
    let request = SendbirdRequest(
      .newUser, to: .platform, "/v3/users",
      ["user_id": .string(user.text), "nickname": .string(nickname), "profile_url": ""])
    do throws(SendbirdFailure) {
      try await send(request, deadline, trace, observe) { _ in }
    } catch {
      // Another instance created the user first.
      guard case .knownUser = error.concern else { throw error }
    }
  }

  /// The longest time that a ticket waits for its user's nickname.
  private static let nicknameLimit = Duration.seconds(2)

  /// Sets the nickname of a user that Sendbird knows, if the user has none. A ticket does not need the
  /// nickname, so a failure is only reported.
  func giveNickname(
    _ nickname: String, to user: UserID, _ deadline: MonotonicTime, _ trace: TraceContext?,
    _ observe: @Sendable (SendbirdReport) -> Void
  ) async {
    let deadline = min(deadline, time.now + Self.nicknameLimit)
    let path = "/v3/users/\(Self.segment(user.text))"
    do throws(SendbirdFailure) {
      let known = try await send(
        SendbirdRequest(.user, to: .platform, path), deadline, trace?.child(), observe
      ) {
        (content: [UInt8]) throws(UnusableReply) in try Self.nickname(in: content)
      }
      guard known.isEmpty else { return }
      let request = SendbirdRequest(
        .nickname, to: .platform, path, ["nickname": .string(nickname)], method: .put)
      try await send(request, deadline, trace?.child(), observe) { _ in }
    } catch {
      // Agents see the user's ID instead.
    }
  }

  private static func nickname(in content: [UInt8]) throws(UnusableReply) -> String {
    let user: JSONValue
    do throws(JSONError) { user = try JSONValue(parsing: content) } catch { throw .notJSON }
    guard let nickname = user["nickname"]?.string else { throw .noToken }
    return nickname
  }

  /// Sends one request and reports it.
  func send<Reply>(
    _ request: SendbirdRequest, _ deadline: MonotonicTime, _ trace: TraceContext?,
    _ observe: (SendbirdReport) -> Void, reading read: ([UInt8]) throws(UnusableReply) -> Reply
  ) async throws(SendbirdFailure) -> Reply {
    let start = time.now
    func report(_ failure: SendbirdFailure?) {
      observe(
        SendbirdReport(
          purpose: request.purpose, startedAt: start, duration: time.now - start, failure: failure,
          trace: trace))
    }
    do throws(SendbirdFailure) {
      guard start < deadline else { throw SendbirdFailure(.timedOut(sent: false)) }
      let response = try await answer(request, trace, within: deadline - start)
      guard (200..<300).contains(response.status) else {
        throw SendbirdFailure(
          status: response.status, content: response.content,
          retryAfter: RetryAfter.read(response.fields, now: time.unixTime.seconds),
          isDesk: request.host == .desk, hasText: request.purpose == .ticket)
      }
      let reply: Reply
      do throws(UnusableReply) {
        reply = try read(response.content)
      } catch {
        throw SendbirdFailure(.unusableReply(response.contentCoding.map { .compressed($0) } ?? error))
      }
      report(nil)
      return reply
    } catch {
      report(error)
      throw error
    }
  }

  private func answer(
    _ request: SendbirdRequest, _ trace: TraceContext?, within timeout: Duration
  ) async throws(SendbirdFailure) -> InboundResponse {
    var fields: Fields = ["Accept": "application/json"]
    let url: String
    switch (request.host, settings.desk) {
    case (.desk, let desk?):
      url = desk.url
      fields[DeskAPI.tokenField] = desk.apiToken.exposedString()
    case (.desk, nil): preconditionFailure("a ticket for a desk without tickets")
    case (.platform, _):
      url = settings.url
      fields["Api-Token"] = settings.apiToken.exposedString()
    }
    if request.content != nil { fields["Content-Type"] = "application/json; charset=utf8" }
    if let trace { fields["traceparent"] = trace.traceparent }
    do throws(TransportError) {
      return try await transport.send(
        OutboundRequest(
          method: request.method, url: url + request.path, fields: fields,
          content: request.content?.serialized() ?? [], timeout: timeout,
          maximumContentLength: Self.longestReply, reuse: request.isAtMostOnce ? .never : .allowed))
    } catch {
      switch error.reason {
      case .timedOut: throw SendbirdFailure(.timedOut(sent: error.sent))
      case .malformedResponse: throw SendbirdFailure(.unusableReply(.malformed))
      case .responseTooLarge: throw SendbirdFailure(.unusableReply(.tooLarge))
      case .invalidURL, .nameResolution, .connect, .connectionLost, .tls, .cancelled, .overloaded:
        throw SendbirdFailure(.transport(error))
      }
    }
  }

  /// Encodes a text as one path segment (RFC 3986 §3.3): every octet that is not unreserved is
  /// percent-encoded.
  static func segment(_ text: String) -> String {
    var segment = ""
    for octet in text.utf8 {
      switch octet {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
        segment.unicodeScalars.append(Unicode.Scalar(octet))
      // Our text: two hexadecimal digits.
      default: segment += "%" + Hex.encode([octet]).uppercased()
      }
    }
    return segment
  }
}

extension UnixTime {
  /// Milliseconds since 1970, as Sendbird counts.
  fileprivate var milliseconds: Int64 {
    seconds.multipliedClamped(by: 1000).addingClamped(Int64(nanoseconds) / 1_000_000)
  }
}
