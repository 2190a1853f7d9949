// Keeps one stream of Talkdesk's Live API open to learn how many agents are available.

public import HTTP
public import Platform
import Synchronization
public import Tokens

/// The number of available agents, from Talkdesk's latest result. The number is nil if it is not certain:
/// before the first result, `LiveSettings.stale` after the latest one, after a result that cannot be read or
/// an error of the query, and after a change of the settings.
public final class LiveAgents: Sendable {
  /// The number of available agents at one time.
  public struct Figure: Hashable, Sendable {
    /// The number of available agents.
    public let available: Int64
    /// When this server received the result.
    public let asOf: UnixTime
    fileprivate let received: MonotonicTime
    /// The settings that the number is for.
    fileprivate let settings: LiveSettings
  }

  /// The settings and the API's URL for a subscription. When they change, a new stream replaces the old one.
  public struct Source: Hashable, Sendable {
    let settings: LiveSettings
    let apiURL: String

    /// - Parameter apiURL: The API's base, without a slash at its end.
    public init(_ settings: LiveSettings, apiURL: String) {
      (self.settings, self.apiURL) = (settings, apiURL)
    }
  }

  /// The end of a stream.
  private enum End {
    case closed, silent, failed, replaced, old
    case refused(LiveAPI.Failure)
  }

  /// The maximum time without data before a stream is given up. Talkdesk sends something every 60 seconds.
  private static let silence = Duration.seconds(90)
  /// A stream that lasted longer than this has worked, so its end counts as a first failure.
  private static let steady = Duration.seconds(60)
  /// The longest pause before the next attempt, to which jitter adds up to a quarter. It is shorter than the
  /// two minutes for which a subscription outlives its stream.
  private static let longestPause = Duration.seconds(60)
  /// The maximum age of a subscription. It is replaced before Talkdesk ends it.
  private static let renewal = Duration.seconds(82_800)
  /// After this many failures in a row, a refused stream means that its subscription is lost.
  private static let mostFailures = 2

  private let transport: any HTTPTransport
  private let clock: any TimeSource
  private let onFailure: @Sendable (String) -> Void
  private let jitter: @Sendable () -> Double
  private let figure = Mutex<Figure?>(nil)

  /// Creates a reader of the stream. The number is unknown until `run` has received one.
  ///
  /// - Parameters:
  ///   - onFailure: Called when a second subscription in a row has failed, with the reason in words for
  ///     operators.
  ///   - jitter: Returns a random number in 0..<1, which spreads retries and renewals over time.
  public init(
    transport: any HTTPTransport, clock: any TimeSource, onFailure: @escaping @Sendable (String) -> Void,
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    self.transport = transport
    self.clock = clock
    self.onFailure = onFailure
    self.jitter = jitter
  }

  /// The number for these settings; nil if it is unknown.
  public func current(_ settings: LiveSettings) -> Figure? {
    figure.withLock {
      $0.flatMap { figure in
        clock.now.age(since: figure.received) <= settings.stale && figure.settings.asksTheSame(as: settings)
          ? figure : nil
      }
    }
  }

  /// Follows streams until the task is canceled.
  ///
  /// - Parameters:
  ///   - source: Returns the current settings and API URL; nil if no query is configured.
  ///   - issuer: Returns the current issuer of tokens.
  public func run(
    source: @escaping @Sendable () -> Source?, issuer: @Sendable () -> any TokenIssuer
  ) async {
    var failures = 0
    while !Task.isCancelled {
      guard let wanted = source() else {
        figure.withLock { $0 = nil }
        failures = 0
        guard await clock.hasSlept(until: clock.now + .seconds(1)) else { return }
        continue
      }
      let start = clock.now
      let end = await subscribe(to: wanted, issuer: issuer(), isWanted: { source() == wanted })
      switch end {
      case .replaced:
        // The old number was for other settings.
        figure.withLock { $0 = nil }
        failures = 0
        continue
      case .old:
        failures = 0
        continue
      case .closed, .silent, .failed, .refused: break
      }
      failures = clock.now - start > Self.steady ? 1 : min(failures + 1, 16)
      // Once for each series of failures.
      if failures == 2 { onFailure(Self.words(end)) }
      guard await hasPaused(failures) else { return }
    }
  }

  /// Waits before the next attempt: a second, then twice as long each time up to a minute, with jitter.
  /// Returns false if the task is canceled.
  private func hasPaused(_ failures: Int) async -> Bool {
    let longest = Self.longestPause
    let pause = min(longest, .seconds(1 << min(max(failures - 1, 0), 6)))
    return await clock.hasSlept(until: clock.now + pause * (0.75 + jitter() / 2))
  }

  /// Subscribes, and follows the stream and its successors until another subscription is needed.
  private func subscribe(
    to source: Source, issuer: any TokenIssuer, isWanted: @escaping @Sendable () -> Bool
  ) async -> End {
    let api = LiveAPI(baseURL: source.apiURL, transport: transport)
    var token: AccessToken
    let url: String
    do throws(LiveAPI.Failure) {
      token = try await self.token(issuer)
      url = try await api.subscribe(source.settings, token)
    } catch {
      return .refused(error)
    }
    let until = clock.now + Self.renewal * (0.95 + jitter() / 20)
    var failures = 0
    while true {
      let start = clock.now
      let end = await follow(api, url, token, source, until: until, isWanted: isWanted)
      switch end {
      case .old, .replaced, .failed: return end
      case .closed, .silent, .refused: break
      }
      failures = clock.now - start > Self.steady ? 1 : failures + 1
      if case .refused = end, failures >= Self.mostFailures { return end }
      guard await hasPaused(failures) else { return end }
      guard isWanted() else { return .replaced }
      do throws(LiveAPI.Failure) { token = try await self.token(issuer, instead: token) } catch {
        return .refused(error)
      }
    }
  }

  /// The old token if it is valid for more than 30 seconds, else a new one. A stream needs a token only to
  /// start.
  private func token(
    _ issuer: any TokenIssuer, instead old: AccessToken? = nil
  ) async throws(LiveAPI.Failure) -> AccessToken {
    if let old, let rest = old.remaining(at: clock.now), rest > .seconds(30) { return old }
    do throws(TokenExchangeError) {
      return try await issuer.exchange(scope: LiveAPI.scope, deadline: clock.now + .seconds(20))
    } catch {
      throw .unavailable("Talkdesk ID: \(error)")
    }
  }

  /// Follows one stream.
  private func follow(
    _ api: LiveAPI, _ url: String, _ token: AccessToken, _ source: Source, until: MonotonicTime,
    isWanted: @escaping @Sendable () -> Bool
  ) async -> End {
    let reading = Reading(now: clock.now)
    return await withTaskGroup(of: End.self) { group in
      group.addTask { [self] in
        do throws(LiveAPI.Failure) {
          try await api.follow(url, token) { [self] bytes in
            let goesOn = reading.take(bytes, at: clock.now) { read($0, source.settings) }
            if !goesOn { figure.withLock { $0 = nil } }
            return goesOn
          }
          return .closed
        } catch {
          return reading.hasFailed ? .failed : .refused(error)
        }
      }
      group.addTask { [self] in
        while await clock.hasSlept(until: clock.now + LivePace.interval) {
          let now = clock.now
          guard reading.takeSkipped({ read($0, source.settings) }) else { return .failed }
          if now - reading.lastOctet > Self.silence { return .silent }
          if now >= until { return .old }
          if !isWanted() { return .replaced }
        }
        return .closed
      }
      let end = await group.next() ?? .closed
      group.cancelAll()
      return end
    }
  }

  /// The state of one stream, whose bytes arrive on the transport's thread.
  private final class Reading: Sendable {
    private struct State {
      var reader = EventStreamReader()
      var pace: LivePace
      var lastOctet: MonotonicTime
      var hasFailed = false
    }

    private let state: Mutex<State>

    init(now: MonotonicTime) { state = Mutex(State(pace: LivePace(now: now), lastOctet: now)) }

    var lastOctet: MonotonicTime { state.withLock { $0.lastOctet } }
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// Adds bytes, and reads the events that they complete.
    ///
    /// - Parameter read: Reads an event; false ends the stream. It runs with the lock held, so that an older
    ///   event never replaces a newer one.
    /// - Returns: Whether the stream can still be read.
    func take(_ bytes: [UInt8], at now: MonotonicTime, _ read: (StreamedEvent) -> Bool) -> Bool {
      state.withLock { state in
        state.lastOctet = now
        do throws(EventStreamReader.TooLong) {
          for event in try state.reader.take(bytes)
          where LiveMessage.counts(event) && state.pace.admits(event, at: now) && !read(event) {
            state.hasFailed = true
            break
          }
        } catch {
          state.hasFailed = true
        }
        return !state.hasFailed
      }
    }

    /// Reads the newest event if it was skipped.
    func takeSkipped(_ read: (StreamedEvent) -> Bool) -> Bool {
      state.withLock { state in
        if let event = state.pace.takeSkipped(), !read(event) { state.hasFailed = true }
        return !state.hasFailed
      }
    }
  }

  /// Reads an event. Returns false to end the stream after an error: Talkdesk keeps a failed query in error,
  /// so the server needs a new subscription.
  private func read(_ event: StreamedEvent, _ settings: LiveSettings) -> Bool {
    let message = LiveMessage(event, at: settings.path)
    figure.withLock { figure in
      switch message {
      case .figure(let number):
        figure = Figure(
          available: number, asOf: clock.unixTime, received: clock.now, settings: settings)
      case .unreadable, .failed: figure = nil
      case .other: break
      }
    }
    return message != .failed
  }

  /// A description for the log, without URL and token.
  private static func words(_ end: End) -> String {
    switch end {
    case .closed: "Talkdesk closed it"
    case .silent: "no data for \(silence.components.seconds) seconds"
    case .failed: "Talkdesk cannot answer the query, or its events cannot be read"
    case .old, .replaced: "it is replaced"
    case .refused(let failure): failure.words
    }
  }
}
