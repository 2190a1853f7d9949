// Keeps track of the token requests in progress and of the tasks that wait for each.

import HTTP

/// The exchanges that are running, and the requests that wait for them.
struct Flights {
  typealias Continuation = CheckedContinuation<Result<AccessToken, TokenError>, Never>

  /// The id of a waiting request.
  struct WaiterID: Hashable, Sendable { var number: UInt64 }

  /// A request that waits.
  struct Waiter: Sendable {
    let continuation: Continuation
    /// Ends the wait at the waiter's deadline. If the exchange waits for its turn, also ends the exchange
    /// when it is too late to start. Nil if the exchange's watchdog is enough.
    let timer: Task<Void, Never>?
  }

  /// An exchange, with the requests that wait for it.
  struct Flight: Sendable {
    /// The task that runs the exchange; nil until it has started.
    var task: Task<Void, Never>?
    /// Ends the exchange when it has taken too long.
    var watchdog: Task<Void, Never>?
    var waiters: [WaiterID: Waiter] = [:]
    /// The trace of the first waiting request that has one; nil if none has one.
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

  /// An id for a request that may have to wait.
  mutating func nextWaiter() -> WaiterID {
    lastWaiter += 1
    return WaiterID(number: lastWaiter)
  }

  /// Adds a waiting request to an exchange, whether or not the exchange has started.
  mutating func add(
    _ id: WaiterID, to exchange: TokenCache.ExchangeID, _ waiter: Waiter, trace: TraceContext? = nil
  ) {
    exchanges[id] = exchange
    var flight = flights[exchange] ?? Flight()
    flight.waiters[id] = waiter
    flight.trace = flight.trace ?? trace
    flights[exchange] = flight
  }

  /// The trace of an exchange that is about to start.
  func trace(of exchange: TokenCache.ExchangeID) -> TraceContext? { flights[exchange]?.trace }

  /// Removes a request that no longer waits; nil if it does not wait.
  mutating func remove(
    _ id: WaiterID
  ) -> (waiter: Waiter, exchange: TokenCache.ExchangeID, isLast: Bool)? {
    guard let exchange = exchanges.removeValue(forKey: id),
      let waiter = flights[exchange]?.waiters.removeValue(forKey: id)
    else { return nil }
    let isLast = flights[exchange]?.waiters.isEmpty ?? true
    // Without a task, the exchange may never start. If it does, it is added again.
    if isLast, flights[exchange]?.task == nil { flights[exchange] = nil }
    return (waiter, exchange, isLast)
  }

  /// Records that an exchange has started.
  mutating func begin(
    _ exchange: TokenCache.ExchangeID, task: Task<Void, Never>, watchdog: Task<Void, Never>
  ) {
    flights[exchange, default: Flight()].task = task
    flights[exchange]?.watchdog = watchdog
  }

  /// The task that runs an exchange.
  func task(of exchange: TokenCache.ExchangeID) -> Task<Void, Never>? { flights[exchange]?.task }

  /// Removes an exchange that has ended, with all requests that wait for it.
  mutating func take(_ exchange: TokenCache.ExchangeID) -> Flight? {
    guard let flight = flights.removeValue(forKey: exchange) else { return nil }
    for id in flight.waiters.keys { exchanges[id] = nil }
    return flight
  }

  /// Removes all exchanges.
  mutating func takeAll() -> [Flight] {
    defer { (flights, exchanges) = ([:], [:]) }
    return Array(flights.values)
  }
}
