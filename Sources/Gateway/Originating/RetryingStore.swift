// The store of callbacks as requests use it: what became of them is written down, and what was begun and not sent is taken
// back, however long that takes.

internal import Gate
internal import Platform
internal import Store
internal import Synchronization

/// A store to which outcomes, and the withdrawals of beginnings that came to nothing, are written beside the answers where
/// the first try fails: again and again, until the record would have become `unknown` by itself.
///
/// Meanwhile a record that is being withdrawn stands in the way of whoever repeats the request, though its own request was
/// told that nothing was done. They are told so too, as the store's failure it is, and begin afresh when it is gone. Other
/// instances cannot know; for them the first request is still running.
final class RetryingStore: CallbackStore {
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

  init(_ store: any CallbackStore, inHand: CallbacksInHand, clock: any TimeSource, log: CallbackLog) {
    self.store = store
    self.inHand = inHand
    self.clock = clock
    self.log = log
  }

  /// How many are being withdrawn.
  var count: Int { underWay.withLock { $0.count } }

  // MARK: Beginning

  func standing(of intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackStanding {
    let before = underWay.withLock { $0 }
    let standing = try await store.standing(of: intent, at: now)
    switch standing.key {
    case .inProgress(let first): try check(first, before)
    case .free: if let first = standing.duplicate { try check(first, before) }
    case .mismatch, .replay: break
    }
    return standing
  }

  func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning {
    let before = underWay.withLock { $0 }
    let beginning: CallbackBeginning
    do throws(StoreError) {
      beginning = try await store.begin(intent, at: now)
    } catch {
      if error.isInDoubt { withdraw(intent) }
      throw error
    }
    switch beginning {
    case .inProgress(let first), .duplicate(let first): try check(first, before)
    case .begun, .mismatch, .replay: break
    }
    return beginning
  }

  /// Nobody is to be refused for the sake of a record that is being withdrawn, nor of one that was a moment ago.
  private func check(_ first: CallbackID, _ before: Set<CallbackID>) throws(StoreError) {
    guard before.contains(first) || underWay.withLock({ $0.contains(first) }) else { return }
    throw StoreError(.unavailable, "withdraw", "what was begun in vain has not been withdrawn yet")
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
      let error = StoreError(.unavailable, "withdraw", "\(Self.most) are being withdrawn already")
      return log.notSettled(error, id: intent.id.description, state: "withdrawn", isLast: true)
    }
    inHand.enter()
    Task {
      do throws(StoreError) {
        try await store.withdraw(intent.id)
      } catch {
        await retry(intent, "withdrawn", after: error) { () throws(StoreError) in
          try await self.store.withdraw(intent.id)
        }
      }
      underWay.withLock { _ = $0.remove(intent.id) }
      inHand.leave()
    }
  }

  func withdraw(_ id: CallbackID) async throws(StoreError) { try await store.withdraw(id) }

  // MARK: Settling

  /// Commits an outcome: at once, or beside whatever comes next. Should the process end before, the record becomes unknown.
  func settle(_ intent: CallbackIntent, _ settlement: CallbackSettlement) async {
    do throws(StoreError) {
      try await store.settle(intent.id, settlement)
    } catch {
      // An ending server waits for this, too.
      inHand.enter()
      Task {
        await retry(intent, settlement.outcome.rawValue, after: error) { () throws(StoreError) in
          try await self.store.settle(intent.id, settlement)
        }
        inHand.leave()
      }
    }
  }

  // MARK: Trying again

  /// Repeats what has failed until it is done, or until the record becomes unknown by itself: less than is known, and nothing
  /// false.
  private func retry(
    _ intent: CallbackIntent, _ state: String, after failure: StoreError,
    _ step: () async throws(StoreError) -> Void
  ) async {
    let left = Duration.seconds(intent.deadline.seconds - clock.unixTime.seconds) + CallbackRecovery.grace
    let end = clock.now + left
    var last = failure
    var pauses = Self.pauses[...]
    log.notSettled(last, id: intent.id.description, state: state, isLast: false)
    repeat {
      let pause = Duration.seconds(pauses.first ?? 5)
      if pauses.count > 1 { pauses.removeFirst() }
      // Nobody cancels this task.
      try? await clock.sleep(until: min(clock.now + pause, end))
      do throws(StoreError) {
        return try await step()
      } catch {
        last = error
      }
    } while clock.now < end
    log.notSettled(last, id: intent.id.description, state: state, isLast: true)
  }

  // MARK: What is not changed

  @discardableResult
  func settle(_ id: CallbackID, _ settlement: CallbackSettlement) async throws(StoreError) -> StoredCallback?
  {
    try await store.settle(id, settlement)
  }

  func callback(_ id: CallbackID, of callerID: String) async throws(StoreError) -> StoredCallback? {
    try await store.callback(id, of: callerID)
  }

  @discardableResult func recoverCallbacks(at now: Instant) async throws(StoreError) -> Int {
    try await store.recoverCallbacks(at: now)
  }
}
