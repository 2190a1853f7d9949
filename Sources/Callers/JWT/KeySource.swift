// Fetches and caches an issuer's public keys (a JWK set), and uses the cached keys while the issuer is down.

package import HTTP
package import JOSE
package import Platform
import Synchronization

/// The JWK set at a URL (RFC 7517 §5).
///
/// The server fetches the set at the start, at each reload, and when its `Cache-Control` says so. Keys of
/// number proofs, and keys of App Check in the sandbox, are not fetched before the first token needs them.
/// The server also fetches the set for tokens with an unknown key: at once for the first, so that keys may
/// change right after the start, then at most once each `Terms.shortestPause`.
///
/// A new set replaces the old one. An empty set withdraws all keys. While the issuer does not respond, or
/// responds without a set, the last set stays in use, for `longestAge` at most.
package final class KeySource: Sendable {
  /// How the keys of one kind of issuer are fetched and cached.
  package struct Terms: Hashable, Sendable {
    /// The minimum time between two fetches for unknown keys, so that invented names do not become requests.
    let shortestPause: Duration
    /// The maximum time for which a set is fresh.
    let longestLife: Duration
    /// Whether `longestAge` counts from the last success, not from the first failure after it.
    let agesFromSuccess: Bool

    /// For the identity providers of callers and operators.
    package static let issuer = Terms(
      shortestPause: .seconds(30), longestLife: KeySource.lives.upperBound, agesFromSuccess: false)
    /// For Google's keys: App Check and number proofs. A set is renewed long before it is too old.
    package static let appCheck = Terms(
      shortestPause: .seconds(10), longestLife: .seconds(6 * 3600), agesFromSuccess: true)
  }

  /// The time from a failed fetch to the next. The server notices that the issuer is back after this pause
  /// and one timeout at the latest.
  static let pauseAfterFailure = Duration.seconds(20)
  /// How long a set is fresh if its response does not say, and the bounds for responses that do.
  static let ordinaryLife = Duration.seconds(600)
  static let lives = Duration.seconds(60)...Duration.seconds(86_400)
  /// How long the last set stays in use while fetches fail. `Terms.agesFromSuccess` says from when this
  /// counts.
  static let longestAge = Duration.seconds(86_400)
  private static let timeout = Duration.seconds(5)

  /// Why a fetch failed.
  package enum Failure: Error, CustomStringConvertible {
    case transport(TransportError)
    case status(Int)
    /// The response is compressed, which the server did not request. The text is the description for
    /// operators.
    case compressed(String)
    case set(JWKSetError)

    package var description: String {
      switch self {
      case .transport(let error): "\(error)"
      case .status(let status): "it responds with status \(status)"
      case .compressed(let words): words
      case .set(let error): "\(error)"
      }
    }
  }

  /// An event for operators.
  package enum Event {
    /// A fetch failed. `isNew`: the previous fetch succeeded, or failed for another reason.
    case failed(Failure, isNew: Bool)
    /// A fetch succeeded after failures.
    case recovered
    /// The issuer has published a new set.
    case published(JWKSet)
    /// The server drops the last set, because it is too old and no fetch has succeeded.
    case expired
  }

  private struct State {
    var set: JWKSet?
    /// The SHA-256 of the set as it was published. If the octets are the same, so are the keys.
    var digest: [UInt8] = []
    /// The set's number. It grows with every new set, and when a set is dropped, so that tokens verified with
    /// an older set are verified again.
    var generation = 0
    /// The time of the last successful fetch.
    var confirmedAt = MonotonicTime(nanoseconds: .min)
    var freshUntil = Expiry.past
    var mayFetchAt = Expiry.past
    /// Why the last fetch failed; nil if it did not.
    var failure: Failure?
    /// The time of the first failure since the last success; nil if there is none.
    var failingSince: MonotonicTime?
    var fetch: Task<Result<Void, Failure>, Never>?
  }

  /// A response with a set.
  private struct Reply {
    /// Nil if the set is the same as before.
    let set: JWKSet?
    let digest: [UInt8]
    let life: Duration
  }

  let url: String
  private let terms: Terms
  /// The URL without its query, for logs: the query may contain a key.
  package let name: String
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let report: @Sendable (Event) -> Void
  private let state = Mutex(State())
  /// The requests with an unknown key that wait for the running fetch.
  private let waiters = Waiters()

  package init(
    url: String, terms: Terms = .issuer, transport: any HTTPTransport, time: any TimeSource,
    report: @escaping @Sendable (Event) -> Void
  ) {
    self.url = url
    self.terms = terms
    name = Self.name(of: url)
    self.transport = transport
    self.time = time
    self.report = report
  }

  /// A URL without its query and fragment.
  package static func name(of url: String) -> String {
    String(String.UnicodeScalarView(url.unicodeScalars.prefix { $0 != "?" && $0 != "#" }))
  }

  /// The immediate result of looking for a token's keys.
  package enum Lookup {
    /// The keys that may verify the token. Empty if the token's key does not allow the token's algorithm.
    case keys([JWK], generation: Int)
    /// The key is not known, but a fetch that is due or running may find it.
    case fetchFirst
    case unknown
    /// The last fetch failed, or there is no set yet. The server tries again after this time.
    case unavailable(retryAfter: Duration)
  }

  /// Finds the keys that may verify a token. If they come from a set that is no longer fresh and a fetch is
  /// due, starts a renewal in the background.
  /// - Parameters:
  ///   - keyID: The token's `kid`.
  ///   - algorithm: The token's `alg`.
  ///   - fetched: Whether the keys were already fetched for this token. One token causes at most one fetch.
  package func keys(
    named keyID: String?, algorithm: String, fetched: Bool, now: MonotonicTime
  ) -> Lookup {
    state.withLock { state in
      dropOld(&state, now)
      let due = now >= state.mayFetchAt
      if let keys = state.set?.candidates(named: keyID, algorithm: algorithm) {
        if now >= state.freshUntil, due { begin(&state) }
        return .keys(keys, generation: state.generation)
      }
      // A token without `kid` gains nothing from another fetch of a set of several keys.
      guard keyID != nil || state.set == nil else { return .unknown }
      if !fetched, due || state.fetch != nil { return .fetchFirst }
      guard state.failure == nil, state.set != nil else {
        return .unavailable(retryAfter: max(state.mayFetchAt - now, .seconds(1)))
      }
      return .unknown
    }
  }

  /// The published set; nil before the first one, and when it is too old.
  package var set: JWKSet? { state.withLock { $0.set } }

  /// The set's generation; 0 before the first set.
  var generation: Int { state.withLock { $0.generation } }

  /// The state of the issuer's keys.
  package struct Status {
    /// The number of keys in the set.
    package let keys: Int
    /// The time since the last successful fetch; nil without a set.
    package let age: Duration?
    /// Why the last fetch failed; nil if it did not.
    let failure: Failure?

    /// Whether the last fetch succeeded and there are keys to verify tokens. Also true before the first
    /// fetch.
    package var isWell: Bool { failure == nil && (keys > 0 || age == nil) }
  }

  package var status: Status {
    state.withLock { state in
      Status(
        keys: state.set?.keys.count ?? 0, age: state.set.map { _ in time.now.age(since: state.confirmedAt) },
        failure: state.failure)
    }
  }

  /// The time until the next fetch if the last one failed; nil if it did not.
  package var rest: Duration? {
    state.withLock { $0.failure == nil ? nil : max($0.mayFetchAt - time.now, .seconds(1)) }
  }

  /// Fetches the set, or waits for the running fetch.
  @discardableResult
  package func fetch() async -> Result<Void, Failure> { await state.withLock { begin(&$0) }.value }

  /// Starts a due fetch: a renewal, or another attempt after a failure. Call it each second, so that an
  /// issuer's return is noticed without tokens.
  package func renewIfDue() {
    state.withLock { state in
      let now = time.now
      dropOld(&state, now)
      guard now >= state.mayFetchAt, now >= state.freshUntil || state.failure != nil else { return }
      begin(&state)
    }
  }

  /// Fetches the set because a token names an unknown key. The next such fetch has to wait.
  ///
  /// Waits for a running fetch. Does nothing while the next fetch has to wait: the request then uses the
  /// result of the last one. So invented names cannot cause fetch after fetch.
  ///
  /// A canceled task stops waiting. The fetch continues for the others.
  package func fetchForUnknownKey() async {
    state.withLock { state in
      let now = time.now
      guard state.fetch == nil, now >= state.mayFetchAt else { return }
      state.mayFetchAt = Expiry(now + terms.shortestPause)
      begin(&state)
    }
    await waiters.wait { state.withLock { $0.fetch == nil } }
  }

  /// Drops a set if the issuer was unreachable for too long: it may have withdrawn a key.
  private func dropOld(_ state: inout State, _ now: MonotonicTime) {
    guard state.set != nil, let failing = state.failingSince else { return }
    guard now.age(since: terms.agesFromSuccess ? state.confirmedAt : failing) >= Self.longestAge else {
      return
    }
    state.set = nil
    state.digest = []
    state.generation += 1
    report(.expired)
  }

  /// How many requests wait for the running fetch.
  var waiting: Int { waiters.count }

  @discardableResult
  private func begin(_ state: inout State) -> Task<Result<Void, Failure>, Never> {
    if let running = state.fetch { return running }
    let digest = state.digest
    let task = Task.detached { [self] in
      let result = await load(known: digest)
      defer { waiters.wakeAll() }
      switch result {
      case .success(let reply):
        let hadFailed = self.state.withLock { state in
          if let set = reply.set {
            state.set = set
            state.digest = reply.digest
            state.generation += 1
          }
          let now = time.now
          state.confirmedAt = now
          state.freshUntil = Expiry(now + reply.life)
          state.fetch = nil
          state.failingSince = nil
          defer { state.failure = nil }
          return state.failure != nil
        }
        if hadFailed { report(.recovered) }
        if let set = reply.set { report(.published(set)) }
        return Result<Void, Failure>.success(())
      case .failure(let failure):
        let isNew = self.state.withLock { state in
          state.fetch = nil
          let now = time.now
          state.mayFetchAt = state.mayFetchAt.extended(to: Expiry(now + Self.pauseAfterFailure), at: now)
          state.failingSince = state.failingSince ?? now
          defer { state.failure = failure }
          return state.failure?.description != failure.description
        }
        report(.failed(failure, isNew: isNew))
        return .failure(failure)
      }
    }
    state.fetch = task
    return task
  }

  /// - Parameter digest: The digest of the current set, which is not parsed again.
  private func load(known digest: [UInt8]) async -> Result<Reply, Failure> {
    let request = OutboundRequest(
      method: .get, url: url, fields: ["Accept": "application/jwk-set+json, application/json"],
      timeout: Self.timeout,
      maximumContentLength: JWKSet.maximumBytes)
    let response: InboundResponse
    do throws(TransportError) {
      response = try await transport.send(request)
    } catch {
      return .failure(.transport(error))
    }
    guard response.status == 200 else { return .failure(.status(response.status)) }
    if let fault = response.codingFault { return .failure(.compressed(fault)) }
    let found = SHA256.digest(response.content)
    let life = min(Self.life(response.fields), terms.longestLife)
    guard found != digest else { return .success(Reply(set: nil, digest: digest, life: life)) }
    do throws(JWKSetError) {
      return .success(Reply(set: try JWKSet(parsing: response.content), digest: found, life: life))
    } catch {
      return .failure(.set(error))
    }
  }

  /// How long a response may be cached (RFC 9111 §5.2.2), within bounds.
  static func life(_ fields: Fields) -> Duration {
    for value in fields.values(of: "Cache-Control") {
      for directive in Array(value.utf8)[...].elements() {
        if directive.equals(lowercase: "no-store") || directive.equals(lowercase: "no-cache") {
          return lives.lowerBound
        }
        guard directive.starts(withLowercase: "max-age="),
          let seconds = directive.dropFirst("max-age=".utf8.count).decimal(digits: 9)
        else { continue }
        return min(max(.seconds(seconds), lives.lowerBound), lives.upperBound)
      }
    }
    return ordinaryLife
  }
}
