// The store of callbacks as requests use it: what was begun and not sent is taken back, however long that takes.

internal import Gate
internal import Platform
internal import Store
internal import Synchronization

/// A store whose beginnings that came to nothing are withdrawn beside the answers: tried again until it is certain that no
/// record is left, or until it becomes `unknown` by itself.
///
/// Meanwhile such a record stands in the way of whoever repeats the request, though its own request was told that nothing
/// was done. They are told so too, as the store's failure it is, and begin afresh when it is gone. Other instances cannot
/// know; for them the first request is still running.
final class WithdrawingStore: CallbackStore {
  /// How many may be under way. What is in doubt is at most what a few connections were committing when they broke.
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
      await tryToWithdraw(intent)
      underWay.withLock { _ = $0.remove(intent.id) }
      inHand.leave()
    }
  }

  private func tryToWithdraw(_ intent: CallbackIntent) async {
    // From then on the record becomes unknown by itself: less than is known, and nothing false.
    let left = Duration.seconds(intent.deadline.seconds - clock.unixTime.seconds) + CallbackRecovery.grace
    let end = clock.now + left
    var pauses = Self.pauses[...]
    var isFirst = true
    while true {
      do throws(StoreError) {
        return try await store.withdraw(intent.id)
      } catch {
        let isLast = clock.now >= end
        if isFirst || isLast {
          log.notSettled(error, id: intent.id.description, state: "withdrawn", isLast: isLast)
        }
        if isLast { return }
        isFirst = false
      }
      let pause = Duration.seconds(pauses.first ?? 5)
      if pauses.count > 1 { pauses.removeFirst() }
      // Nobody cancels this task.
      try? await clock.sleep(until: min(clock.now + pause, end))
    }
  }

  func withdraw(_ id: CallbackID) async throws(StoreError) { try await store.withdraw(id) }

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
