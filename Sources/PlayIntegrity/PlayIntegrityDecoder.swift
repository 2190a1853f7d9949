// Has Google decode the tokens of Play Integrity, by a service account.

package import HTTP
import JOSE
import JSON
package import Notices
package import Platform
import Synchronization
package import Trust

/// Where Google's API of Play Integrity is, and who this server is there.
package struct PlayIntegritySettings: Sendable, Equatable {
  /// The base of the API.
  package static let usualURL = "https://playintegrity.googleapis.com"
  static let scope = "https://www.googleapis.com/auth/playintegrity"

  let access: GoogleAccess
  let url: String

  /// - Parameters:
  ///   - url: Another base of the API, checked by the caller.
  ///   - tokenURL: Another token endpoint than the account's, checked by the caller.
  package init(_ account: ServiceAccount, url: String? = nil, tokenURL: String? = nil) {
    access = GoogleAccess(
      account, tokenURL: tokenURL, scope: Self.scope, setting: "attestation.play_integrity")
    self.url = url ?? Self.usualURL
  }
}

/// Decodes tokens, one request for each. Google decodes a token often enough for no more.
package final class PlayIntegrityDecoder: Sendable {
  /// Why there is no verdict.
  package enum Failure: Error, Hashable, Sendable {
    /// The token is none of Google's.
    case refused
    /// Google cannot be asked, or does not answer.
    case unavailable(AttestationOutage)
  }

  /// Whether Google answers.
  package struct Status: Sendable {
    /// Why the last request had no answer; nil after one that had.
    package let outage: AttestationOutage?
    /// For how long Google is not asked.
    package let rest: Duration?
  }

  /// What a request may take.
  static let timeout = Duration.seconds(5)
  private static let longestReply = 64 * 1024
  /// The longest time in `Retry-After` that counts.
  private static let longestRest = Duration.seconds(3600)

  private struct State {
    var outage: AttestationOutage?
    var restsUntil: MonotonicTime?
  }

  /// The settings by which it asks.
  package let settings: PlayIntegritySettings
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let tokens: GoogleTokens
  private let log: @Sendable (String) -> Void
  private let state = Mutex(State())

  /// - Parameter log: Gets the cause of each outage once, in words for operators.
  package init(
    _ settings: PlayIntegritySettings, transport: any HTTPTransport, time: any TimeSource,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.settings = settings
    self.transport = transport
    self.time = time
    self.log = log
    tokens = GoogleTokens(
      settings.access, transport: transport, time: time, jitter: { .random(in: 0..<1) })
  }

  /// How it is.
  package var status: Status {
    let now = time.now
    return state.withLock { state in
      Status(
        outage: state.outage, rest: state.restsUntil.map { $0 - now }.flatMap { $0 > .zero ? $0 : nil })
    }
  }

  /// Forgets access tokens and failures: the next request asks Google.
  package func startAnew() {
    tokens.startAnew(keepingToken: false)
    state.withLock { $0 = State() }
  }

  /// Asks once for an access token: why there is none, in words for operators; nil where there is one.
  package func check() async -> String? { await tokens.check()?.reason }

  /// Google's verdict on a token of an app.
  package func verdict(on token: String, of package: String) async -> Result<PlayIntegrityVerdict, Failure> {
    if let outage = state.withLock({ state in
      state.restsUntil.map { time.now < $0 } == true ? state.outage ?? .quota : nil
    }) {
      return .failure(.unavailable(outage))
    }
    let deadline = time.now + Self.timeout
    var answer = await ask(token, of: package, by: deadline)
    // An access token that Google no longer takes is renewed once.
    if case .failure(.renews) = answer { answer = await ask(token, of: package, by: deadline) }
    switch answer {
    case .success(let verdict):
      state.withLock { $0 = State() }
      return .success(verdict)
    case .failure(.refused):
      state.withLock { $0 = State() }
      return .failure(.refused)
    case .failure(.renews): return .failure(outage(.refused, "Play Integrity 401; check the service account"))
    case .failure(.outage(let cause, let words, let rest)): return .failure(outage(cause, words, rest: rest))
    }
  }

  private func outage(_ cause: AttestationOutage, _ words: String, rest: Duration? = nil) -> Failure {
    let now = time.now
    let isNew = state.withLock { state in
      defer {
        state.outage = cause
        state.restsUntil = rest.map { now + min($0, Self.longestRest) }
      }
      return state.outage != cause
    }
    if isNew { log(words) }
    return .unavailable(cause)
  }

  /// What became of one request.
  private enum Attempt: Error {
    case refused, renews
    case outage(AttestationOutage, String, rest: Duration?)
  }

  private func ask(
    _ token: String, of package: String, by deadline: MonotonicTime
  ) async -> Result<PlayIntegrityVerdict, Attempt> {
    let access: GoogleToken
    switch await tokens.token(by: deadline) {
    case .success(let usable): access = usable
    case .failure(let failure):
      let isRefused = if case .stopSender = failure.verdict { true } else { false }
      return .failure(
        .outage(isRefused ? .refused : .unreachable, failure.verdict.reason ?? "Google", rest: nil))
    }
    let left = deadline - time.now
    guard left > .zero else {
      return .failure(.outage(.unreachable, "Play Integrity: no time left", rest: nil))
    }
    let request = OutboundRequest(
      method: .post, url: "\(settings.url)/v1/\(package):decodeIntegrityToken",
      fields: [
        "Authorization": access.bearer.exposedString(), "Content-Type": "application/json",
        "Accept": "application/json",
      ],
      content: (["integrityToken": .string(token)] as JSONValue).serialized(), timeout: left,
      maximumContentLength: Self.longestReply)
    do throws(TransportError) {
      let reply = try await transport.send(request)
      if reply.status == 401 { tokens.invalidate(access) }
      return Self.attempt(reply, now: time.unixTime)
    } catch {
      return .failure(.outage(.unreachable, "Play Integrity: \(error)", rest: error.retryAfter))
    }
  }

  private static func attempt(
    _ reply: InboundResponse, now: UnixTime
  ) -> Result<PlayIntegrityVerdict, Attempt> {
    let words = "Play Integrity \(reply.status)"
    let rest = RetryAfter.read(reply.fields, now: now.seconds, cap: longestRest)
    switch reply.status {
    case 200:
      // What cannot be read is no verdict.
      guard let payload = try? JSONValue(parsing: reply.content)["tokenPayloadExternal"]?.object,
        let verdict = try? PlayIntegrityVerdict(payload)
      else { return .failure(.outage(.nonsense, "\(words): no verdict that can be read", rest: nil)) }
      return .success(verdict)
    case 400: return .failure(.refused)
    case 401: return .failure(.renews)
    case 403, 404:
      return .failure(
        .outage(
          .refused, "\(words); link the service account's project in the Play Console, and check url",
          rest: nil))
    case 429: return .failure(.outage(.quota, "\(words): the quota is used up", rest: rest))
    case 408, 500...599: return .failure(.outage(.unreachable, words, rest: rest))
    default: return .failure(.outage(.nonsense, words, rest: nil))
    }
  }
}

/// Keeps the decoder across reloads, with its access token.
package final class KeptPlayIntegrity: Sendable {
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let log: @Sendable (String) -> Void
  private let kept = Mutex<PlayIntegrityDecoder?>(nil)

  package init(
    transport: any HTTPTransport, time: any TimeSource, log: @escaping @Sendable (String) -> Void
  ) {
    self.transport = transport
    self.time = time
    self.log = log
  }

  /// The decoder of a configuration. Whatever failed before may be put right now.
  package func decoder(_ settings: PlayIntegritySettings?) -> PlayIntegrityDecoder? {
    kept.withLock { kept in
      if let kept, kept.settings == settings {
        kept.startAnew()
        return kept
      }
      kept = settings.map { PlayIntegrityDecoder($0, transport: transport, time: time, log: log) }
      return kept
    }
  }

  /// Forgets the access token.
  package func forgetTokens() { kept.withLock { $0 }?.startAnew() }
}
