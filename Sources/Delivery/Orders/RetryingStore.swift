// Saves or withdraws callback records, and takes marks of appointments back, in the background until the store accepts it.

package import Gate
package import Platform
package import Store
import Synchronization

/// A store to which outcomes, and the withdrawals of beginnings that came to nothing, are written beside the answers where
/// the first try fails: again and again, until they are saved or the process ends. Only this process knows them. A booking in doubt is
/// withdrawn like a beginning. A mark in doubt is taken back, since without the store's leave nothing is sent.
///
/// Meanwhile a record that is being withdrawn stands in the way of whoever repeats the request, though its own request was
/// told that nothing was done. They are told so too, as the store's failure it is, and begin afresh when it is gone. Other
/// instances cannot know; for them the first request is still running.
package final class RetryingStore: CallbackStore, AppointmentStore {
  /// How many may be withdrawn at once. What is in doubt is at most what a few connections were committing when they broke, or
  /// what waited for a flush.
  static let most = 8192
  /// The pauses between tries, in seconds; the last one stays.
  private static let pauses = [1, 1, 2, 3, 5]

  let store: any CallbackStore & AppointmentStore
  private let inHand: CallbacksInHand
  private let clock: any TimeSource
  private let log: CallbackLog
  private let underWay = Mutex<Set<CallbackID>>([])
  /// The appointments whose marks are being taken back.
  private let releasing = Mutex<Set<CallbackID>>([])
  /// What was begun here, or may have been, and is neither settled nor withdrawn; with the time at which a record of it would
  /// count as abandoned.
  private let inHandUntil = Mutex<[CallbackID: Int64]>([:])
  private let isEnded = Mutex(false)

  package init(
    _ store: any CallbackStore & AppointmentStore, inHand: CallbacksInHand, clock: any TimeSource,
    log: CallbackLog
  ) {
    self.store = store
    self.inHand = inHand
    self.clock = clock
    self.log = log
  }

  /// What is in hand though the clock says that its time is over: nobody may take it for abandoned.
  package func overdue(at now: Instant) -> Set<CallbackID> {
    inHandUntil.withLock { ids in Set(ids.lazy.filter { $0.value <= now.seconds }.map(\.key)) }
  }

  private func hold(_ id: CallbackID, until deadline: Instant) {
    let until = deadline.seconds + CallbackRecovery.grace.components.seconds
    inHandUntil.withLock { $0[id] = until }
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
    case .replay(let first): try check(first.id, before)
    case .mismatch: break
    }
    return standing
  }

  package func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning
  {
    let before = underWay.withLock { $0 }
    let beginning: CallbackBeginning
    hold(intent.id, until: intent.deadline)
    do throws(StoreError) {
      beginning = try await store.begin(intent, at: now)
    } catch {
      if error.isInDoubt { withdraw(intent) } else { forget(intent.id) }
      throw error
    }
    if beginning != .begun { forget(intent.id) }
    switch beginning {
    case .inProgress(let first), .duplicate(let first): try check(first, before)
    case .replay(let first): try check(first.id, before)
    case .begun, .mismatch: break
    }
    return beginning
  }

  package func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult {
    let before = underWay.withLock { $0 }
    let result: BookingResult
    do throws(StoreError) {
      result = try await store.book(booking, at: now)
    } catch {
      if error.isInDoubt { withdraw(booking.intent) }
      throw error
    }
    switch result {
    case .inProgress(let first), .duplicate(let first): try check(first, before)
    // A booking is answered as soon as it is kept, and one that is being withdrawn was not.
    case .replay(let first): try check(first.id, before)
    case .booked, .full, .mismatch: break
    }
    return result
  }

  /// An appointment whose booking is being withdrawn was refused: it is not there for anything else.
  func isWithdrawn(_ id: CallbackID) -> Bool { underWay.withLock { $0.contains(id) } }

  func checkNotWithdrawn(_ id: CallbackID) throws(StoreError) { try check(id, []) }

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
    inBackground {
      await self.save(intent.id, "withdrawn", late: { id, _ in self.log.withdrawnLate(id: id) }) {
        () throws(StoreError) in
        try await self.store.withdraw(intent.id)
      }
      self.underWay.withLock { _ = $0.remove(intent.id) }
      self.forget(intent.id)
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
      inBackground {
        let state = settlement.outcome.rawValue
        await self.save(
          intent.id, state, after: error, late: self.log.settledLate
        ) { () throws(StoreError) in
          self.finish(intent, try await self.store.settle(intent.id, settlement), saved)
        }
      }
    }
  }

  private func finish(_ intent: CallbackIntent, _ record: StoredCallback?, _ saved: (Bool) -> Void) {
    forget(intent.id)
    saved(record?.wasRecovered == true)
  }

  // MARK: Marking

  package func mark(_ id: CallbackID, for due: Instant, deadline: Instant) async throws(StoreError) -> Bool {
    guard !releasing.withLock({ $0.contains(id) }) else {
      // Otherwise taking the last mark back could take this one, too, while its request is on its way.
      throw StoreError(.unavailable, "mark", "the last mark of the appointment is not taken back yet")
    }
    try checkNotWithdrawn(id)
    hold(id, until: deadline)
    do throws(StoreError) {
      let isMarked = try await store.mark(id, for: due, deadline: deadline)
      if !isMarked { forget(id) }
      return isMarked
    } catch {
      if error.isInDoubt {
        releasing.withLock { _ = $0.insert(id) }
        inBackground { _ = await self.release(id, until: due, code: nil, isMarked: false) }
      } else {
        forget(id)
      }
      throw error
    }
  }

  /// Takes a mark of this process back, of which certainly nothing was accepted: returns when that is certain, or the process ends.
  /// - Parameters:
  ///   - due: When the appointment is tried again.
  ///   - code: Why the try was in vain; nil for what counts as no try.
  /// - Returns: False where the record was recovered as `unknown` meanwhile, because this process seemed to be gone. Then it is to
  ///   be settled.
  package func release(_ id: CallbackID, until due: Instant, code: String?) async -> Bool {
    await release(id, until: due, code: code, isMarked: true)
  }

  /// - Parameter isMarked: Whether the mark is certain.
  private func release(_ id: CallbackID, until due: Instant, code: String?, isMarked: Bool) async -> Bool {
    releasing.withLock { _ = $0.insert(id) }
    var isOwn = isMarked
    var isScheduled = true
    await save(
      id, StoredCallback.Status.scheduled.rawValue,
      late: { if isScheduled { self.log.settledLate(id: $0, state: $1) } },
      { () throws(StoreError) in
        do throws(StoreError) {
          isScheduled = try await self.store.postpone(id, until: due, code: code)
        } catch {
          // Once it may be scheduled again, others may mark it: what is found then may be theirs.
          if error.isInDoubt { isOwn = false }
          throw error
        }
      })
    releasing.withLock { _ = $0.remove(id) }
    forget(id)
    return isScheduled || !isOwn
  }

  // MARK: Ending

  /// Repeats an end in doubt until it is certain, or the process ends.
  /// - Parameter now: The time of the end whose commit failed, which tells its record from those that others have ended.
  /// - Returns: What it came to, without the content where an earlier commit had wiped it; nil where the process ends.
  package func end(
    _ id: CallbackID, _ ending: AppointmentEnding, at now: Instant, after failure: StoreError
  ) async -> EndResult? {
    var result: EndResult?
    await save(id, ending.status.rawValue, after: failure, late: log.settledLate) { () throws(StoreError) in
      result = try await self.store.end(id, ending, at: now)
    }
    if case .unchanged(let record) = result, record.status == ending.status, record.settledAt == now {
      return .ended(record, content: [])
    }
    return result
  }

  // MARK: Trying again

  /// Does something beside whatever comes next. An ending server waits for it, too.
  private func inBackground(_ body: @escaping @Sendable () async -> Void) {
    inHand.enter()
    Task {
      await body()
      inHand.leave()
    }
  }

  /// Does a step, and repeats it where it fails until it is done or the process ends.
  /// - Parameter failure: How it has failed already; nil where it is to be tried at once.
  private func save(
    _ id: CallbackID, _ state: String, after failure: StoreError? = nil,
    late: (_ id: String, _ state: String) -> Void, _ step: () async throws(StoreError) -> Void
  ) async {
    var last: StoreError
    if let failure {
      last = failure
    } else {
      do throws(StoreError) {
        return try await step()
      } catch {
        last = error
      }
    }
    var pauses = Self.pauses[...]
    log.notSettled(last, id: id.description, state: state, isLast: false)
    repeat {
      let pause = Duration.seconds(pauses.first ?? 5)
      if pauses.count > 1 { pauses.removeFirst() }
      // Nobody cancels this task.
      try? await clock.sleep(until: clock.now + pause)
      do throws(StoreError) {
        try await step()
        return late(id.description, state)
      } catch {
        last = error
      }
    } while !isEnded.withLock { $0 }
    log.notSettled(last, id: id.description, state: state, isLast: true)
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
