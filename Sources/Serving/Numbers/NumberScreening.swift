// Gets verdicts on phone numbers: saved ones, or from a lookup at Talkdesk that concurrent requests share.

import Configuration
import Deciding
package import Delivery
package import Gate
package import HTTP
import Metrics
package import Platform
package import Records
package import Store
import Synchronization
package import Talkdesk
package import Tokens

/// Looks phone numbers up. One instance survives reloads, so a running lookup still answers the requests that
/// wait for it.
package final class NumberScreening: Sendable {
  /// The subject of a lookup. Requests share a lookup only if number and settings are the same.
  private struct Subject: Hashable {
    let phone: E164
    let settings: Int64
  }

  private struct Waiter {
    let continuation: CheckedContinuation<ScreeningAnswer, Never>
    let timer: Task<Void, Never>
  }

  /// The requests that wait for lookups.
  private struct Flights {
    var waiters: [Subject: [Int: Waiter]] = [:]
    var last = 0
  }

  private let store: any Store
  private let key: NumberKey
  private let ledger: AllowanceLedger
  private let brakes: BrakeWatch
  private let tokens: TokenSource
  private let transport: @Sendable (OwnScope) -> any HTTPTransport
  private let metrics: ServiceMetrics
  private let log: Log
  private let clock: any TimeSource
  private let flights = Mutex(Flights())

  /// - Parameter transport: Returns the transport for the API of a scope.
  package init(
    store: any Store, key: NumberKey, ledger: AllowanceLedger, brakes: BrakeWatch, tokens: TokenSource,
    metrics: ServiceMetrics, log: Log, clock: any TimeSource,
    transport: @escaping @Sendable (OwnScope) -> any HTTPTransport
  ) {
    self.store = store
    self.key = key
    self.ledger = ledger
    self.brakes = brakes
    self.tokens = tokens
    self.transport = transport
    self.metrics = metrics
    self.log = log
    self.clock = clock
  }

  /// The finding of a saved verdict. Nil if there is no verdict, or if it has expired or comes from other
  /// settings.
  package func finding(_ verdict: ScreeningVerdict?, _ settings: ScreeningSettings) -> ScreeningFinding? {
    guard let verdict, verdict.settings == settings.fingerprint, Instant(clock.unixTime) < verdict.ends else {
      return nil
    }
    return verdict.refusal.map { .refused(setting: $0) } ?? .allowed(isUnknown: false)
  }

  /// The saved verdict on a number, without a lookup; `.unasked` if there is no valid one, or if the store
  /// fails.
  package func saved(_ phone: E164, _ settings: ScreeningSettings) async -> ScreeningAnswer {
    do throws(StoreError) {
      return finding(try await store.verdict(key.id(of: phone)), settings).map { .found($0) } ?? .unasked
    } catch {
      return .unasked
    }
  }

  /// The verdict on a number: the saved one, or the result of a lookup that concurrent requests share.
  ///
  /// - Parameters:
  ///   - base: The base URL of Talkdesk's API.
  ///   - deadline: When the request must be answered, if there is a limit.
  package func verdict(
    _ query: ScreeningQuery, _ settings: ScreeningSettings, base: String, deadline: MonotonicTime?
  ) async -> ScreeningAnswer {
    let subject = Subject(phone: query.phone, settings: settings.fingerprint)
    let end = clock.now + query.timeout
    let mine = deadline.map { min($0, end) } ?? end
    return await withCheckedContinuation { continuation in
      let isFirst = flights.withLock { flights in
        flights.last += 1
        let number = flights.last
        let timer = Task { [weak self, clock] in
          // If the timer was canceled, the request has its answer.
          guard await clock.hasSlept(until: mine) else { return }
          self?.leave(subject, number)
        }
        let isFirst = flights.waiters[subject] == nil
        flights.waiters[subject, default: [:]][number] = Waiter(continuation: continuation, timer: timer)
        return isFirst
      }
      guard isFirst else { return }
      Task {
        let answer = await self.lookUp(query, settings, base: base, deadline: end)
        let waiters = flights.withLock { $0.waiters.removeValue(forKey: subject) } ?? [:]
        for waiter in waiters.values {
          waiter.timer.cancel()
          waiter.continuation.resume(returning: answer)
        }
      }
    }
  }

  /// Answers a request whose time has passed. The lookup continues for the next request.
  private func leave(_ subject: Subject, _ number: Int) {
    let waiter = flights.withLock { $0.waiters[subject]?.removeValue(forKey: number) }
    waiter?.continuation.resume(returning: .found(.failed("Talkdesk did not respond in time")))
  }

  /// Looks a number up, unless the store has a valid verdict, perhaps from another instance.
  private func lookUp(
    _ query: ScreeningQuery, _ settings: ScreeningSettings, base: String, deadline: MonotonicTime
  ) async -> ScreeningAnswer {
    let id = key.id(of: query.phone)
    do throws(StoreError) {
      if let known = finding(try await store.verdict(id), settings) { return .found(known) }
    } catch {
      // If the store fails, the charge below cannot be taken either, and nothing is looked up. If lookups
      // have no limit, the number is looked up nevertheless.
    }
    let now = Instant(clock.unixTime)
    if let charge = query.charge {
      let taking = await ledger.take([charge], at: now)
      guard case .taken(let receipts) = taking.outcome else {
        return .uncounted(taking.outcome)
      }
      brakes.taken(receipts, contact: nil, at: now)
    }
    let api = ScreeningAPI(baseURL: base, clock: clock) { [tokens, transport] scope in
      ScreeningAPI.Way(
        transport: transport(scope),
        token: { deadline throws(TokenError) in try await tokens.token(forServer: scope, deadline: deadline)
        },
        refuse: { tokens.invalidate($0, forServer: scope) })
    }
    let finding = await api.finding(on: query.phone, settings, deadline: deadline)
    switch finding {
    case .allowed(let isUnknown):
      metrics.screenings.count(isUnknown ? "unknown" : "allowed")
      await save(id, settings, refusal: nil)
    case .refused(let setting):
      metrics.screenings.count("refused")
      await save(id, settings, refusal: setting)
    case .failed(let cause):
      metrics.screenings.count("failed")
      metrics.troubles.began(.screening, cause: cause, at: clock.unixTime)
      log.write(.warning, "a number could not be screened; on_failure applies", ["error.message": cause])
    }
    return .found(finding)
  }

  private func save(_ id: StoreID, _ settings: ScreeningSettings, refusal: String?) async {
    metrics.troubles.ended(.screening)
    guard settings.remember > .zero else { return }
    do throws(StoreError) {
      try await store.save(
        ScreeningVerdict(
          id: id, settings: settings.fingerprint, refusal: refusal,
          ends: Instant(clock.unixTime).advanced(by: settings.remember)))
    } catch {
      // The next request looks the number up again.
    }
  }
}

extension NumberScreening {
  /// Makes the function that gets verdicts for the rules of a configuration. Nil if the configuration has no
  /// settings for lookups or no rule `screened`.
  func screener(_ configuration: Configuration) -> NumberScreener? {
    guard let settings = configuration.numbers?.screening, configuration.policy.asksScreening else {
      return nil
    }
    if settings.validation != nil { metrics.show(.phoneValidation) }
    if !settings.lists.isEmpty { metrics.show(.doNotCall) }
    let base = settings.url ?? configuration.talkdesk.upstream?.apiURL
    return { [self] query, looksUp, deadline in
      guard looksUp else { return await saved(query.phone, settings) }
      guard let base else { return .found(.failed("no Talkdesk credential is configured")) }
      return await verdict(query, settings, base: base, deadline: deadline)
    }
  }
}
