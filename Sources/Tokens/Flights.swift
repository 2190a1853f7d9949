// Keeps track of the token requests in progress and of the tasks that wait for each.

import HTTP

/// The exchanges under way and who waits for them.
struct Flights {
  typealias Continuation = CheckedContinuation<Result<AccessToken, TokenError>, Never>

  /// Names one who waits.
  struct WaiterID: Hashable, Sendable { var number: UInt64 }

  /// One who waits.
  struct Waiter: Sendable {
    let continuation: Continuation
    /// Ends the wait at the waiter's own deadline, where that comes before the exchange's.
    let timer: Task<Void, Never>?
  }

  /// One exchange.
  struct Flight: Sendable {
    /// Makes the exchange; nil until it has begun.
    var task: Task<Void, Never>?
    /// Gives it up when it has taken too long.
    var watchdog: Task<Void, Never>?
    var waiters: [WaiterID: Waiter] = [:]
    /// The trace of the first who waits and has one.
    var trace: TraceContext?

    /// Completes all waiting requests. Do not call it with a lock held.
    func answer(_ result: Result<AccessToken, TokenError>) {
      for waiter in waiters.values {
        waiter.timer?.cancel()
        waiter.continuation.resume(returning: result)
      }
    }
  }

  private var flights: [TokenCache.ExchangeID: Flight] = [:]
  private var exchanges: [WaiterID: TokenCache.ExchangeID] = [:]
  private var lastWaiter: UInt64 = 0

  /// A name for one who may have to wait.
  mutating func nextWaiter() -> WaiterID {
    lastWaiter += 1
    return WaiterID(number: lastWaiter)
  }

  /// Lets one wait for an exchange, whether or not it has begun.
  mutating func add(
    _ id: WaiterID, to exchange: TokenCache.ExchangeID, _ waiter: Waiter, trace: TraceContext? = nil
  ) {
    exchanges[id] = exchange
    var flight = flights[exchange] ?? Flight()
    flight.waiters[id] = waiter
    flight.trace = flight.trace ?? trace
    flights[exchange] = flight
  }

  /// The trace an exchange belongs to that is about to begin.
  func trace(of exchange: TokenCache.ExchangeID) -> TraceContext? { flights[exchange]?.trace }

  /// Takes one out who waits no longer; nil for one who does not wait.
  mutating func remove(
    _ id: WaiterID
  ) -> (waiter: Waiter, exchange: TokenCache.ExchangeID, isLast: Bool)? {
    guard let exchange = exchanges.removeValue(forKey: id),
      let waiter = flights[exchange]?.waiters.removeValue(forKey: id)
    else { return nil }
    let isLast = flights[exchange]?.waiters.isEmpty ?? true
    // Without a task it may never begin; if it does, it gets its place again.
    if isLast, flights[exchange]?.task == nil { flights[exchange] = nil }
    return (waiter, exchange, isLast)
  }

  /// An exchange has begun.
  mutating func begin(
    _ exchange: TokenCache.ExchangeID, task: Task<Void, Never>, watchdog: Task<Void, Never>
  ) {
    flights[exchange, default: Flight()].task = task
    flights[exchange]?.watchdog = watchdog
  }

  /// The task that makes an exchange.
  func task(of exchange: TokenCache.ExchangeID) -> Task<Void, Never>? { flights[exchange]?.task }

  /// Takes out an exchange that is over, with all who wait for it.
  mutating func take(_ exchange: TokenCache.ExchangeID) -> Flight? {
    guard let flight = flights.removeValue(forKey: exchange) else { return nil }
    for id in flight.waiters.keys { exchanges[id] = nil }
    return flight
  }

  /// Takes out everything.
  mutating func takeAll() -> [Flight] {
    defer { (flights, exchanges) = ([:], [:]) }
    return Array(flights.values)
  }
}
