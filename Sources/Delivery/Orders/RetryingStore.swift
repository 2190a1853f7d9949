// Saves or withdraws callback records in the background until the store accepts them.

package import Gate
package import Platform
package import Store
import Synchronization

/// A store to which outcomes, and the withdrawals of beginnings that came to nothing, are written beside the answers where
/// the first try fails: again and again, until they are saved or the process ends. Only this process knows them.
///
/// Meanwhile a record that is being withdrawn stands in the way of whoever repeats the request, though its own request was
/// told that nothing was done. They are told so too, as the store's failure it is, and begin afresh when it is gone. Other
/// instances cannot know; for them the first request is still running.
package final class RetryingStore: CallbackStore {
  /// How many may be withdrawn at once. What is in doubt is at most what a few connections were committing when they broke, or
  /// what waited for a flush.
  static let most = 8192
  /// The pauses between tries, in seconds; the last one stays.
  private static let pauses = [1, 1, 2, 3, 5]

  private let store: any CallbackStore
  private let inHand: CallbacksInHand
  private let clock: any TimeSource
  private let log: CallbackLog
  private let underWay = Mutex<Set<CallbackID>>([])
  /// What was begun here, or may have been, and is neither settled nor withdrawn; with the time at which a record of it would
  /// count as abandoned.
  private let inHandUntil = Mutex<[CallbackID: Int64]>([:])
  private let isEnded = Mutex(false)

  package init(_ store: any CallbackStore, inHand: CallbacksInHand, clock: any TimeSource, log: CallbackLog) {
    self.store = store
    self.inHand = inHand
    self.clock = clock
    self.log = log
  }

  /// What is in hand though the clock says that its time is over: nobody may take it for abandoned.
  package func overdue(at now: Instant) -> Set<CallbackID> {
    inHandUntil.withLock { ids in Set(ids.lazy.filter { $0.value <= now.seconds }.map(\.key)) }
  }

  private func hold(_ intent: CallbackIntent) {
    let until = intent.deadline.seconds + CallbackRecovery.grace.components.seconds
    inHandUntil.withLock { $0[intent.id] = until }
  }

  private func forget(_ id: CallbackID) { inHandUntil.withLock { _ = $0.removeValue(forKey: id) } }

  /// Nothing is tried again any more: the process ends.
  package func end() { isEnded.withLock { $0 = true } }

  /// How many are being withdrawn.
  var count: Int { underWay.withLock { $0.count } }

  // MARK: Beginning

  package func standing(of intent: CallbackIntent, at now: Instant) async throws(StoreError)
    -> CallbackStanding
  {
    let before = underWay.withLock { $0 }
    let standing = try await store.standing(of: intent, at: now)
    switch standing.key {
    case .inProgress(let first): try check(first, before)
    case .free: if let first = standing.duplicate { try check(first, before) }
    case .mismatch, .replay: break
    }
    return standing
  }

  package func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning
  {
    let before = underWay.withLock { $0 }
    let beginning: CallbackBeginning
    hold(intent)
    do throws(StoreError) {
      beginning = try await store.begin(intent, at: now)
    } catch {
      if error.isInDoubt { withdraw(intent) } else { forget(intent.id) }
      throw error
    }
    if beginning != .begun { forget(intent.id) }
    switch beginning {
    case .inProgress(let first), .duplicate(let first): try check(first, before)
    case .begun, .mismatch, .replay: break
    }
    return beginning
  }

  /// Nobody is to be refused for the sake of a record that is being withdrawn, nor of one that was a moment ago.
  private func check(_ first: CallbackID, _ before: Set<CallbackID>) throws(StoreError) {
    guard before.contains(first) || underWay.withLock({ $0.contains(first) }) else { return }
    throw StoreError(
      .unavailable, "withdraw", "the record of a callback that was not sent is not deleted yet")
  }

  // MARK: Withdrawing

  /// Takes an intent back of which nothing was sent, beside whatever comes next.
  func withdraw(_ intent: CallbackIntent) {
    let isTaken = underWay.withLock { underWay in
      guard underWay.count < Self.most else { return false }
      underWay.insert(intent.id)
      return true
    }
    guard isTaken else {
      forget(intent.id)
      let error = StoreError(.unavailable, "withdraw", "\(Self.most) records are being deleted already")
      return log.notSettled(error, id: intent.id.description, state: "withdrawn", isLast: true)
    }
    inHand.enter()
    Task {
      do throws(StoreError) {
        try await store.withdraw(intent.id)
      } catch {
        await retry(intent, "withdrawn", after: error, late: log.withdrawnLate) { () throws(StoreError) in
          try await self.store.withdraw(intent.id)
        }
      }
      underWay.withLock { _ = $0.remove(intent.id) }
      forget(intent.id)
      inHand.leave()
    }
  }

  package func withdraw(_ id: CallbackID) async throws(StoreError) { try await store.withdraw(id) }

  // MARK: Settling

  /// Commits an outcome: at once, or beside whatever comes next. Should the process end before, the record becomes unknown.
  /// - Parameter saved: Is called once it is committed, and told whether the record had been recovered as `unknown` before.
  func settle(
    _ intent: CallbackIntent, _ settlement: CallbackSettlement, saved: @escaping @Sendable (Bool) -> Void
  ) async {
    do throws(StoreError) {
      finish(intent, try await store.settle(intent.id, settlement), saved)
    } catch {
      // An ending server waits for this, too.
      inHand.enter()
      Task {
        let state = settlement.outcome.rawValue
        await retry(intent, state, after: error, late: { self.log.settledLate(id: $0, state: state) }) {
          () throws(StoreError) in
          self.finish(intent, try await self.store.settle(intent.id, settlement), saved)
        }
        inHand.leave()
      }
    }
  }

  private func finish(_ intent: CallbackIntent, _ record: StoredCallback?, _ saved: (Bool) -> Void) {
    forget(intent.id)
    saved(record?.wasRecovered == true)
  }

  // MARK: Trying again

  /// Repeats what has failed until it is done or the process ends.
  private func retry(
    _ intent: CallbackIntent, _ state: String, after failure: StoreError, late: (String) -> Void,
    _ step: () async throws(StoreError) -> Void
  ) async {
    var last = failure
    var pauses = Self.pauses[...]
    log.notSettled(last, id: intent.id.description, state: state, isLast: false)
    repeat {
      let pause = Duration.seconds(pauses.first ?? 5)
      if pauses.count > 1 { pauses.removeFirst() }
      // Nobody cancels this task.
      try? await clock.sleep(until: clock.now + pause)
      do throws(StoreError) {
        try await step()
        return late(intent.id.description)
      } catch {
        last = error
      }
    } while !isEnded.withLock { $0 }
    log.notSettled(last, id: intent.id.description, state: state, isLast: true)
  }

  // MARK: What is not changed

  @discardableResult
  package func settle(_ id: CallbackID, _ settlement: CallbackSettlement) async throws(StoreError)
    -> StoredCallback?
  {
    try await store.settle(id, settlement)
  }

  package func callback(_ id: CallbackID, of callerID: String) async throws(StoreError) -> StoredCallback? {
    try await store.callback(id, of: callerID)
  }

  @discardableResult
  package func recoverCallbacks(at now: Instant, besides inHand: Set<CallbackID>) async throws(StoreError)
    -> Int
  {
    try await store.recoverCallbacks(at: now, besides: inHand)
  }
}
