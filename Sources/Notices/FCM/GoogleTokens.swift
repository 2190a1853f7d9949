// Caches the access token of a Google service account. It runs one exchange at a time, and renews the token
// before it expires.

package import HTTP
package import JOSE
import JSON
package import Platform
import Synchronization

/// An access token from Google.
package final class GoogleToken: Sendable {
  /// The value of `Authorization`.
  package let bearer: Secret
  /// The token must not be used after this time.
  let usableUntil: Expiry
  /// The time from which the token is renewed, if it has been used.
  let renewAt: Expiry

  init(_ text: String, lifetime: Duration, obtainedAt: MonotonicTime, unit: Double) {
    bearer = Secret("Bearer " + text)
    usableUntil = Expiry(obtainedAt + lifetime - min(.seconds(60), lifetime / 2))
    // Between half and four fifths of its life, so that instances do not renew in step.
    renewAt = Expiry(obtainedAt + lifetime * (0.5 + 0.3 * unit))
  }
}

/// The service account and the scope that this server uses with Google's APIs.
package struct GoogleAccess: Sendable {
  let account: ServiceAccount
  /// The token endpoint's URL, which is also the audience of the assertions.
  package let tokenURL: String
  let scope: String
  /// The setting in which an operator configures the access, for logs.
  let setting: String

  /// - Parameter tokenURL: Another token endpoint than the account's, checked by the caller.
  package init(_ account: ServiceAccount, tokenURL: String? = nil, scope: String, setting: String) {
    self.account = account
    self.tokenURL = tokenURL ?? account.tokenURI
    self.scope = scope
    self.setting = setting
  }
}

extension GoogleAccess: Equatable {
  /// Whether both have the same account, key, token endpoint and scope.
  package static func == (a: GoogleAccess, b: GoogleAccess) -> Bool {
    // Our text: ids of the configuration.
    a.account.signer == b.account.signer && a.account.keyID == b.account.keyID
      && a.account.clientEmail == b.account.clientEmail && a.tokenURL == b.tokenURL && a.scope == b.scope
  }
}

/// A cache for the access token of a service account (RFC 7523 §2.1).
///
/// `TokenSource` is separate: it is for Talkdesk's tokens, which clients get for a grant. Google's tokens
/// never leave this server.
package final class GoogleTokens: Sendable {
  /// The reason why there is no token.
  package struct Failure: Error {
    package let verdict: NoticeVerdict
    /// Whether Google may have refused the assertion because of this machine's clock.
    package var mayBeOfClock = false

    /// The same failure, with the time until the next exchange.
    func waiting(_ rest: Duration) -> Self {
      switch verdict {
      case .retry(_, let reason): Self(verdict: .retry(after: rest, reason: reason))
      case .restProvider(_, let reason): Self(verdict: .restProvider(for: rest, reason: reason))
      case .taken, .deviceGone, .restDevice, .stopSender, .giveUp: self
      }
    }
  }

  /// The time limit of an exchange.
  static let exchangeTimeout = Duration.seconds(5)
  private static let longestReply = 64 * 1024

  private struct State {
    var token: GoogleToken?
    /// Whether the token was used since it was obtained.
    var isUsed = false
    var isExchanging = false
    /// The number of exchanges that have ended or were discarded.
    var ended = 0
    /// The number of calls of `startAnew`. The result of an exchange of an earlier epoch is ignored.
    var epoch = 0
    var failure: Failure?
    /// The number of exchanges that failed in a row.
    var failures = 0
    /// No exchange starts before this time.
    var restsUntil: Expiry?
  }

  private enum Step {
    case done(Result<GoogleToken, Failure>)
    case waits(ended: Int, begins: Bool)
  }

  private let settings: GoogleAccess
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let jitter: @Sendable () -> Double
  private let state = Mutex(State())
  private let waiters = Waiters()

  package init(
    _ settings: GoogleAccess, transport: any HTTPTransport, time: any TimeSource,
    jitter: @escaping @Sendable () -> Double
  ) {
    self.settings = settings
    self.transport = transport
    self.time = time
    self.jitter = jitter
  }

  /// Returns a valid token, or the reason why none is available by the deadline.
  package func token(by deadline: MonotonicTime) async -> Result<GoogleToken, Failure> {
    while true {
      let step = next(deadline)
      switch step {
      case .done(let result): return result
      case .waits(let ended, let begins):
        if begins { exchangeInBackground() }
        await wait(past: ended, until: deadline)
      }
    }
  }

  /// Drops a token that Google refused, so that the next request gets another.
  package func invalidate(_ token: GoogleToken) {
    state.withLock { state in
      if state.token === token { state.token = nil }
    }
  }

  /// Drops earlier failures and a running exchange, so that the next request without a valid token starts an
  /// exchange.
  /// - Parameter keepingToken: Whether the current token stays.
  package func startAnew(keepingToken: Bool) {
    state.withLock { state in
      state = State(
        token: keepingToken ? state.token : nil, isUsed: state.isUsed, ended: state.ended + 1,
        epoch: state.epoch + 1)
    }
    waiters.wakeAll()
  }

  private func next(_ deadline: MonotonicTime) -> Step {
    let now = time.now
    let (step, renews) = state.withLock { state -> (Step, Bool) in
      let rest = state.restsUntil.map { $0 - now } ?? .zero
      let rests = rest > .zero
      if let token = state.token, now < token.usableUntil {
        state.isUsed = true
        let renews = now >= token.renewAt && !state.isExchanging && !rests
        if renews { state.isExchanging = true }
        return (.done(.success(token)), renews)
      }
      if rests, let failure = state.failure { return (.done(.failure(failure.waiting(rest))), false) }
      guard now < deadline, !Task.isCancelled else {
        return (.done(.failure(Failure(verdict: .outOfTime("Google's token endpoint")))), false)
      }
      defer { state.isExchanging = true }
      return (.waits(ended: state.ended, begins: !state.isExchanging), false)
    }
    if renews { exchangeInBackground() }
    return step
  }

  /// Returns when another exchange has ended, or at the deadline.
  private func wait(past ended: Int, until deadline: MonotonicTime) async {
    await withTaskGroup { group in
      group.addTask { [self] in
        await waiters.wait(unless: { state.withLock { $0.ended != ended } })
      }
      group.addTask { [time] in _ = await time.hasSlept(until: deadline) }
      await group.next()
      group.cancelAll()
    }
  }

  // MARK: Exchanging

  /// Runs one exchange and stores nothing. Returns the reason if there is no token, and nil on success.
  package func check() async -> Failure? {
    switch await exchange(time.now) {
    case .success: nil
    case .failure(let failure): failure
    }
  }

  /// Runs an exchange in a separate task, because other requests wait for it too.
  private func exchangeInBackground() {
    let epoch = state.withLock { $0.epoch }
    Task.detached { [self] in
      let start = time.now
      let result = await exchange(start)
      finish(result, of: epoch)
      // The renewal refers to `self` weakly, because it waits for most of an hour.
      if case .success(let token) = result { renewLater(token) }
    }
  }

  private func renewLater(_ token: GoogleToken) {
    Task.detached { [weak self, time] in
      // This task is never canceled. `self` may be gone by the end of the wait.
      let now = time.now
      guard await time.hasSlept(until: now + (token.renewAt - now)), let self else { return }
      let begins = state.withLock { state in
        // A token that was not used since may expire.
        guard state.token === token, state.isUsed, !state.isExchanging else { return false }
        state.isExchanging = true
        return true
      }
      if begins { exchangeInBackground() }
    }
  }

  private func finish(_ result: Result<GoogleToken, Failure>, of epoch: Int) {
    let (now, unit) = (time.now, jitter())
    state.withLock { state in
      guard epoch == state.epoch else { return }
      state.isExchanging = false
      state.ended += 1
      switch result {
      case .success(let token):
        (state.token, state.isUsed) = (token, false)
        (state.failure, state.failures, state.restsUntil) = (nil, 0, nil)
      case .failure(let failure):
        state.failure = failure
        state.failures += 1
        state.restsUntil = Expiry(
          now + Self.rest(after: failure.verdict, failures: state.failures, unit: unit))
      }
    }
    waiters.wakeAll()
  }

  /// The pause before the next exchange: the time that Google or an overloaded transport names, at least a
  /// second; else 0.5 s, doubling to 30 s, plus up to half at random.
  static func rest(after verdict: NoticeVerdict, failures: Int, unit: Double) -> Duration {
    switch verdict {
    case .retry(let wait?, _), .restProvider(let wait, _): return max(.seconds(1), wait)
    case .retry, .taken, .deviceGone, .restDevice, .stopSender, .giveUp: break
    }
    return .seconds(min(0.5 * Double(1 << min(max(failures - 1, 0), 10)), 30) * (1 + unit / 2))
  }

  private func exchange(_ start: MonotonicTime) async -> Result<GoogleToken, Failure> {
    let assertion: String
    let signer: Signer
    do throws(KeyError) {
      signer = try settings.account.signer.get()
    } catch {
      return .failure(Failure(verdict: .stopSender(reason: "Google: there is no key to sign with: \(error)")))
    }
    do throws(OpenSSLError) {
      assertion = try signedAssertion(signer)
    } catch {
      return .failure(
        Failure(verdict: .stopSender(reason: "Google: the assertion could not be signed: \(error)")))
    }
    let request = OutboundRequest(
      method: .post, url: settings.tokenURL,
      fields: ["Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"],
      // Only the colons in the grant's name need escapes.
      content: Array(
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)".utf8),
      timeout: Self.exchangeTimeout, maximumContentLength: Self.longestReply, reuse: .allowedAndRepeatable)
    do throws(TransportError) {
      return Self.token(
        in: try await transport.send(request), start, time.unixTime, unit: jitter(), setting: settings.setting
      )
    } catch {
      return .failure(Failure(verdict: NoticeVerdict(error, from: "Google's token endpoint")))
    }
  }

  private func signedAssertion(_ signer: Signer) throws(OpenSSLError) -> String {
    let issuedAt = time.unixTime.advanced(bySeconds: -JWS.issuedAtMargin).seconds
    let claims: JSONObject = [
      "iss": .string(settings.account.clientEmail), "scope": .string(settings.scope),
      "aud": .string(settings.tokenURL), "iat": .number(JSONNumber(issuedAt)),
      "exp": .number(JSONNumber(issuedAt + 3600)),
    ]
    return try JWS.sign(
      header: ["alg": "RS256", "kid": .string(settings.account.keyID), "typ": "JWT"],
      payload: claims.serialized(), with: signer)
  }

  /// Reads a response of the token endpoint (RFC 6749 §5).
  static func token(
    in reply: InboundResponse, _ start: MonotonicTime, _ now: UnixTime, unit: Double, setting: String
  ) -> Result<GoogleToken, Failure> {
    let object: JSONObject?
    do {
      object = try JSONValue(parsing: reply.content).object
    } catch {
      // The content is not JSON, such as a proxy's HTML page: the status decides.
      object = nil
    }
    let code = ProviderCode.read(object?["error"]?.string)
    let words = "Google's token endpoint \(reply.status)\(code.map { " \($0)" } ?? "")"
    switch reply.status {
    case 200..<300:
      guard let text = object?["access_token"]?.string, (1...8192).contains(text.utf8.count),
        text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
        let seconds = object?["expires_in"]?.int(clampedTo: 0...86_400), seconds > 0
      else {
        let fault = reply.codingFault ?? "no usable access_token and expires_in"
        return .failure(Failure(verdict: .retry(after: nil, reason: "\(words): \(fault)")))
      }
      let lifetime = Duration.seconds(seconds)
      return .success(GoogleToken(text, lifetime: lifetime, obtainedAt: start, unit: unit))
    case 408, 429, 500...599:
      return .failure(Failure(verdict: .retry(reply, now: now, reason: words)))
    default:
      let doubt = ClockDoubt(
        refusedAt: now.seconds, reply.fields, words: object?["error_description"]?.string)
      let fix = "check \(setting).service_account_file and token_url"
      return .failure(
        Failure(
          verdict: .stopSender(
            reason: doubt.map { "\(words): \($0.words(for: "Google")); set the clock first, then \(fix)" }
              ?? "\(words); \(fix)"),
          mayBeOfClock: doubt != nil))
    }
  }
}
