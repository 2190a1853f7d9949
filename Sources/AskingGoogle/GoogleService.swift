// Sends requests to one of Google's APIs with a service account, and tracks whether the API answers.

import HTTP
import JOSE
import JSON
package import Notices
import Platform
import Synchronization
package import Trust

/// A client of one of Google's APIs. A request is retried only after a 401. After any other failure, Google
/// may already have acted on it.
package final class GoogleService: Sendable {
  /// The reason why there is no answer.
  package enum Failure: Error, Hashable, Sendable {
    /// Google refuses the token that was sent: Google did not issue it.
    case refused
    /// Google cannot be reached, refuses the service account, has reached a quota, or sends no usable answer.
    /// During a pause, nothing is sent.
    case unavailable(AttestationOutage)
  }

  /// The state of the API: whether the latest request got an answer, and whether there is a pause.
  package struct Status: Sendable {
    /// The reason why the latest request got no answer. Nil if it got one, or if none was sent since the
    /// start or the last reload.
    package let outage: AttestationOutage?
    /// The time until the server sends the next request; nil if there is no pause.
    package let rest: Duration?
  }

  /// The time limit of a request.
  static let timeout = Duration.seconds(5)
  private static let longestReply = 64 * 1024
  /// The longest `Retry-After` that the server respects.
  private static let longestRest = Duration.seconds(3600)

  private struct State {
    var outage: AttestationOutage?
    var restsUntil: Expiry?
  }

  private let name: String
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let tokens: GoogleTokens
  private let log: @Sendable (String) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - name: The name of the API in logs.
  ///   - log: Called when an outage begins or its cause changes, with the cause in words for operators.
  init(
    _ name: String, _ access: GoogleAccess, transport: any HTTPTransport, time: any TimeSource,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.name = name
    self.transport = transport
    self.time = time
    self.log = log
    tokens = GoogleTokens(access, transport: transport, time: time, jitter: { .random(in: 0..<1) })
  }

  /// The current status of the API.
  package var status: Status {
    let now = time.now
    return state.withLock { state in
      Status(
        outage: state.outage, rest: state.restsUntil.map { $0 - now }.flatMap { $0 > .zero ? $0 : nil })
    }
  }

  /// Drops access tokens and failures, so that the next request goes to Google.
  package func startAnew() {
    tokens.startAnew(keepingToken: false)
    state.withLock { $0 = State() }
  }

  /// Requests an access token once. Returns the reason if there is none, and nil on success.
  package func check() async -> GoogleTokens.Failure? { await tokens.check() }

  /// Sends a request and returns Google's answer. During a pause, fails at once without a request.
  ///
  /// - Parameter read: Reads the content of a 200. Returns nil if it cannot be read.
  func ask<Answer: Sendable>(
    _ url: String, _ body: JSONValue, read: (JSONObject) -> Answer?
  ) async -> Result<Answer, Failure> {
    if let outage = state.withLock({ state in
      state.restsUntil.map { time.now < $0 } == true ? state.outage ?? .quota : nil
    }) {
      return .failure(.unavailable(outage))
    }
    let deadline = time.now + Self.timeout
    var attempt = await attempt(url, body, by: deadline, read)
    // Google refused the access token before it did anything. So the token is renewed and the request is sent
    // once more.
    if case .renews = attempt { attempt = await self.attempt(url, body, by: deadline, read) }
    switch attempt {
    case .answer(let answer):
      state.withLock { $0 = State() }
      return .success(answer)
    case .refused:
      state.withLock { $0 = State() }
      return .failure(.refused)
    case .renews: return .failure(outage(.refused, "\(name) 401; check the service account"))
    case .outage(let cause, let words, let rest): return .failure(outage(cause, words, rest: rest))
    }
  }

  private func outage(_ cause: AttestationOutage, _ words: String, rest: Duration? = nil) -> Failure {
    let now = time.now
    let isNew = state.withLock { state in
      defer {
        state.outage = cause
        state.restsUntil = rest.map { Expiry(now + min($0, Self.longestRest)) }
      }
      return state.outage != cause
    }
    if isNew { log(words) }
    return .unavailable(cause)
  }

  /// The outcome of one request.
  private enum Attempt<Answer> {
    case answer(Answer)
    case refused, renews
    case outage(AttestationOutage, String, rest: Duration?)
  }

  private func attempt<Answer>(
    _ url: String, _ body: JSONValue, by deadline: MonotonicTime, _ read: (JSONObject) -> Answer?
  ) async -> Attempt<Answer> {
    let access: GoogleToken
    switch await tokens.token(by: deadline) {
    case .success(let usable): access = usable
    case .failure(let failure):
      let isRefused = if case .stopSender = failure.verdict { true } else { false }
      return .outage(isRefused ? .refused : .unreachable, failure.verdict.reason ?? name, rest: nil)
    }
    let left = deadline - time.now
    guard left > .zero else { return .outage(.unreachable, "\(name): no time left", rest: nil) }
    let request = OutboundRequest(
      method: .post, url: url,
      fields: [
        "Authorization": access.bearer.exposedString(), "Content-Type": "application/json",
        "Accept": "application/json",
      ],
      content: body.serialized(), timeout: left, maximumContentLength: Self.longestReply)
    do throws(TransportError) {
      let reply = try await transport.send(request)
      if reply.status == 401 { tokens.invalidate(access) }
      return attempt(reply, read)
    } catch {
      return .outage(.unreachable, "\(name): \(error)", rest: error.retryAfter)
    }
  }

  private func attempt<Answer>(_ reply: InboundResponse, _ read: (JSONObject) -> Answer?) -> Attempt<Answer> {
    let words = "\(name) \(reply.status)"
    let rest = RetryAfter.read(reply.fields, now: time.unixTime.seconds, cap: Self.longestRest)
    switch reply.status {
    case 200:
      // An answer that is not JSON is as unreadable as one that `read` refuses.
      guard let object = try? JSONValue(parsing: reply.content).object, let answer = read(object) else {
        return .outage(.nonsense, "\(words): \(reply.codingFault ?? "the answer cannot be read")", rest: nil)
      }
      return .answer(answer)
    case 400: return .refused
    case 401: return .renews
    case 403, 404:
      return .outage(.refused, "\(words); check what the service account may do, and url", rest: nil)
    case 429: return .outage(.quota, "\(words): the quota is used up", rest: rest)
    case 408, 500...599: return .outage(.unreachable, words, rest: rest)
    default: return .outage(.nonsense, words, rest: nil)
    }
  }
}
