// An issuer's published keys, fetched when they are needed and kept while the issuer is down.

internal import HTTP
internal import JOSE
internal import Platform
internal import Synchronization

/// The JWK set at a URL (RFC 7517 §5).
///
/// Fetched once at the start, again when its `Cache-Control` says so, and at most once each `shortestPause` when tokens
/// name keys that are not in it: at once for the first of those, so that keys may change right after the start. A failed
/// fetch changes nothing: the old keys keep verifying.
final class KeySource: Sendable {
  /// Between two fetches that unknown keys or failures cause, so that invented names do not become requests.
  static let shortestPause = Duration.seconds(30)
  /// How long a set is fresh whose reply does not say, and the bounds for replies that do.
  static let ordinaryLife = Duration.seconds(600)
  static let lives = Duration.seconds(60)...Duration.seconds(86_400)
  private static let timeout = Duration.seconds(5)

  /// Why no keys were had.
  enum Failure: Error, CustomStringConvertible {
    case transport(TransportError)
    case status(Int)
    case set(JWKSetError)
    case noUsableKey

    var description: String {
      switch self {
      case .transport(let error): "\(error.reason.rawValue): \(error.detail)"
      case .status(let status): "it answers \(status)"
      case .set(let error): "\(error)"
      case .noUsableKey: "it holds no key that can verify"
      }
    }
  }

  private struct State {
    var set: JWKSet?
    /// The SHA-256 of the set as it was published: the same octets are the same keys.
    var digest: [UInt8] = []
    /// Grows with every set that is not the one before, so that what was verified with an older one is verified anew.
    var generation = 0
    var freshUntil = MonotonicTime(nanoseconds: .min)
    var mayFetchAt = MonotonicTime(nanoseconds: .min)
    var fetch: Task<Result<Void, Failure>, Never>?
  }

  let url: String
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let report: @Sendable (Failure) -> Void
  private let state = Mutex(State())

  /// - Parameter report: Is told why a fetch failed.
  init(
    url: String, transport: any HTTPTransport, time: any TimeSource,
    report: @escaping @Sendable (Failure) -> Void
  ) {
    self.url = url
    self.transport = transport
    self.time = time
    self.report = report
  }

  /// What can be said of a key at once.
  enum Lookup {
    case key(JWK, generation: Int)
    /// Not in the set, and a fetch is due that may bring it.
    case fetchFirst
    case unknown
  }

  /// The key a token names. Begins a renewal in the background where the set is no longer fresh.
  func key(named keyID: String?, now: MonotonicTime) -> Lookup {
    state.withLock { state in
      let due = now >= state.mayFetchAt
      if let set = state.set, let key = set.key(named: keyID) {
        if now >= state.freshUntil, due { begin(&state) }
        return .key(key, generation: state.generation)
      }
      // A token without `kid` gains nothing from another fetch of a set of several keys.
      guard keyID != nil || state.set == nil else { return .unknown }
      return due || state.fetch != nil ? .fetchFirst : .unknown
    }
  }

  /// The set's generation; 0 as long as none was had.
  var generation: Int { state.withLock { $0.generation } }

  /// Fetches the set, or waits for the fetch under way.
  @discardableResult
  func fetch() async -> Result<Void, Failure> { await state.withLock { begin(&$0) }.value }

  /// Fetches the set because a token names a key that is not there; the next such fetch has to wait.
  ///
  /// Waits for the fetch under way, and does nothing where one has just ended: whoever was told to fetch first while it
  /// ran finds there what it brought, and invented names cannot follow each other from fetch to fetch.
  func fetchForUnknownKey() async {
    let fetch = state.withLock { state -> Task<Result<Void, Failure>, Never>? in
      if let running = state.fetch { return running }
      let now = time.now
      guard now >= state.mayFetchAt else { return nil }
      state.mayFetchAt = now + Self.shortestPause
      return begin(&state)
    }
    _ = await fetch?.value
  }

  @discardableResult
  private func begin(_ state: inout State) -> Task<Result<Void, Failure>, Never> {
    if let running = state.fetch { return running }
    let task = Task.detached { [self] in
      let result = await load()
      switch result {
      case .success(let fetched):
        self.state.withLock { state in
          if state.digest != fetched.digest {
            state.set = fetched.set
            state.digest = fetched.digest
            state.generation += 1
          }
          state.freshUntil = time.now + fetched.life
          state.fetch = nil
        }
        return Result<Void, Failure>.success(())
      case .failure(let failure):
        self.state.withLock { state in
          state.fetch = nil
          state.mayFetchAt = max(state.mayFetchAt, time.now + Self.shortestPause)
        }
        report(failure)
        return .failure(failure)
      }
    }
    state.fetch = task
    return task
  }

  private func load() async -> Result<(set: JWKSet, digest: [UInt8], life: Duration), Failure> {
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
    do throws(JWKSetError) {
      let set = try JWKSet(parsing: response.content)
      guard !set.keys.isEmpty else { return .failure(.noUsableKey) }
      return .success((set, SHA256.digest(response.content), Self.life(response.fields)))
    } catch {
      return .failure(.set(error))
    }
  }

  /// How long a reply may be kept (RFC 9111 §5.2.2), within bounds.
  static func life(_ fields: Fields) -> Duration {
    for element in fields.values(of: "Cache-Control").joined(separator: ",").split(separator: ",") {
      let directive = element.trimmed.lowercased()
      if directive == "no-store" || directive == "no-cache" { return lives.lowerBound }
      guard directive.hasPrefix("max-age=") else { continue }
      let digits = directive.dropFirst("max-age=".count)
      guard (1...9).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let seconds = Int64(digits)
      else { continue }
      return min(max(.seconds(seconds), lives.lowerBound), lives.upperBound)
    }
    return ordinaryLife
  }
}
