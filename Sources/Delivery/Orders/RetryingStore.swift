// Retries database writes in the background: saves outcomes, withdraws unsent callbacks, and checks commits
// in doubt.

package import Gate
package import Platform
package import Store
import Synchronization

/// A store that repeats failed writes in the background, until they succeed or the process ends. A repeated
/// write is late: another instance may have acknowledged something since. So this class repeats only what no
/// other instance can have acknowledged. Of some other writes, it checks whether they were made. The cases:
///
/// 1. *An outcome cannot be saved.* The server saves it later. Only this process knows the outcome, and an
///    ended callback no longer changes. If the process ends first, the record becomes `unknown`.
/// 2. *A commit of a new callback or ticket is in doubt.* The client got an error and nothing was sent, so
///    the server withdraws the record. Until then no other instance confirms the callback: for them, the
///    first request still runs.
/// 3. *A commit of a booking is in doubt.* Other instances confirm, move and call whatever was saved, so the
///    server withdraws nothing. The allowances are used together with the booking or not at all, so there is
///    nothing to give back either.
/// 4. *A mark is in doubt.* The server sends nothing without a certain mark, so it takes the mark back. An
///    appointment that is `scheduled` is not changed: it was moved or tried since, or was never marked.
/// 5. *The end of an appointment is in doubt.* Its owner may have moved it since, so the server does not
///    repeat the end. It checks whether the end was made. The allowances are given back together with the
///    end or not at all.
/// 6. *Taking a mark back is in doubt.* The server repeats it, as in case 4.
/// 7. *A revocation or a delivery of a secret is in doubt.* As in case 5, the server checks whether the
///    change was made, and completes it.
///
/// Moves, answers to dialogs and the mark that an app has read an outcome are not repeated: their clients do
/// that.
///
/// In case 2, a retry of the client meets the record that is being withdrawn. The retry gets the store's
/// error, and succeeds after the withdrawal.
package final class RetryingStore: Sendable {
  /// The maximum number of simultaneous withdrawals. Only commits on a few broken connections, or in one
  /// flush, are in doubt together.
  static let most = 8192
  /// The pauses between attempts, in seconds. The last pause repeats.
  private static let pauses = [1, 1, 2, 3, 5]

  /// The underlying store, for reads.
  package let base: any CallbackStore & AppointmentStore
  private let inHand: CallbacksInHand
  private let clock: any TimeSource
  private let log: CallbackLog
  private let isClockRight: @Sendable () -> Bool
  private let underWay = Mutex<Set<CallbackID>>([])
  /// Appointments whose marks the server is taking back.
  private let releasing = Mutex<Set<CallbackID>>([])
  /// Callbacks that may have a record and are neither settled nor withdrawn. For each, the time when other
  /// instances would recover its record, in seconds since 1970.
  private let inHandUntil = Mutex<[CallbackID: Int64]>([:])
  /// Outcomes that are being saved in the background, each with whether its app has read it.
  private let settling = Mutex<[CallbackID: Bool]>([:])
  private let isEnded = Mutex(false)

  /// - Parameter isClockRight: Whether this process may decide by its clock (`StoreHealth.isClockRight`). If
  ///   not, it begins, books, changes and marks nothing, and ends only what an owner ends.
  package init(
    _ store: any CallbackStore & AppointmentStore, inHand: CallbacksInHand, clock: any TimeSource,
    log: CallbackLog, isClockRight: @escaping @Sendable () -> Bool
  ) {
    self.isClockRight = isClockRight
    base = store
    self.inHand = inHand
    self.clock = clock
    self.log = log
  }

  /// Callbacks of this process that are overdue at a time. Recovery must not touch them.
  package func overdue(at now: Instant) -> Set<CallbackID> {
    inHandUntil.withLock { ids in Set(ids.lazy.filter { $0.value <= now.seconds }.map(\.key)) }
  }

  private func hold(_ id: CallbackID, until deadline: Instant) {
    let until = deadline.advanced(by: CallbackRecovery.grace).seconds
    inHandUntil.withLock { $0[id] = until }
  }

  private func forget(_ id: CallbackID) { inHandUntil.withLock { _ = $0.removeValue(forKey: id) } }

  /// Throws if this process must not decide by its clock. Otherwise keys, dedupe entries and due times would
  /// end too early or too late for all instances.
  package func checkClock() throws(StoreError) {
    guard !isClockRight() else { return }
    throw StoreError(
      .unavailable, "clock",
      "this machine's clock differs from the database server's, or was not compared yet")
  }

  /// Stops all retries, because the process ends.
  package func end() { isEnded.withLock { $0 = true } }

  /// The number of running withdrawals.
  var count: Int { underWay.withLock { $0.count } }

  // MARK: Beginning

  package func standing(of intent: CallbackIntent, at now: Instant) async throws(StoreError)
    -> CallbackStanding
  {
    let before = underWay.withLock { $0 }
    let standing = try await base.standing(of: intent, at: now)
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
    try checkClock()
    hold(intent.id, until: intent.deadline)
    do throws(StoreError) {
      beginning = try await base.begin(intent, at: now)
    } catch {
      if error.isInDoubt { withdraw(intent) } else { forget(intent.id) }
      throw error
    }
    if beginning != .begun { forget(intent.id) }
    switch beginning {
    case .inProgress(let first), .duplicate(let first): try check(first, before)
    case .replay(let first): try check(first.id, before)
    case .begun, .mismatch, .exhausted: break
    }
    return beginning
  }

  package func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult {
    let before = underWay.withLock { $0 }
    try checkClock()
    let result = try await base.book(booking, at: now)
    switch result {
    // The key may belong to a callback that is being withdrawn.
    case .inProgress(let first), .duplicate(let first): try check(first, before)
    case .replay(let first): try check(first.id, before)
    case .booked, .full, .revoked, .mismatch, .exhausted, .unsealed: break
    }
    return result
  }

  /// Throws for a record that is being withdrawn, or was being withdrawn when the request began. A request
  /// must not count as its duplicate.
  private func check(_ first: CallbackID, _ before: Set<CallbackID>) throws(StoreError) {
    guard before.contains(first) || underWay.withLock({ $0.contains(first) }) else { return }
    throw StoreError(
      .unavailable, "withdraw", "the record of a callback that was not sent has not been deleted yet")
  }

  // MARK: Withdrawing

  /// Withdraws an unsent intent in the background.
  package func withdraw(_ intent: CallbackIntent) {
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
      await self.save(
        intent.id.description, "withdrawn", late: { id, _ in self.log.withdrawnLate(id: id) }
      ) { () throws(StoreError) in
        try await self.base.withdraw(
          intent.id, returning: intent.charges?.receipts ?? [], at: Instant(self.clock.unixTime))
      }
      self.underWay.withLock { _ = $0.remove(intent.id) }
      self.forget(intent.id)
    }
  }

  // MARK: Settling

  /// Saves an outcome, at once or in the background. If the process ends first, the record becomes `unknown`.
  /// - Parameter saved: Called after the commit, with whether the record had been recovered as `unknown`
  ///   before.
  func settle(
    _ intent: CallbackIntent, _ settlement: CallbackSettlement, saved: @escaping @Sendable (Bool) -> Void
  ) async {
    do throws(StoreError) {
      finish(intent, try await base.settle(intent.id, settlement), saved)
    } catch {
      settling.withLock { $0[intent.id] = false }
      inBackground {
        let state = settlement.outcome.rawValue
        await self.save(
          intent.id.description, state, after: error, late: self.log.settledLate
        ) { () throws(StoreError) in
          var settlement = settlement
          settlement.isTold = self.settling.withLock { $0[intent.id] == true }
          self.finish(intent, try await self.base.settle(intent.id, settlement), saved)
        }
        self.settling.withLock { _ = $0.removeValue(forKey: intent.id) }
      }
    }
  }

  /// Notes that the app has read the outcome of a callback in a response. If the outcome is still being
  /// saved, it is saved as already told.
  package func told(_ id: CallbackID) { settling.withLock { if $0[id] != nil { $0[id] = true } } }

  private func finish(_ intent: CallbackIntent, _ record: StoredCallback?, _ saved: (Bool) -> Void) {
    forget(intent.id)
    saved(record?.wasRecovered == true)
  }

  // MARK: Marking

  package func mark(_ id: CallbackID, for due: Instant, deadline: Instant, _ handover: CallHandover? = nil)
    async throws(StoreError) -> Bool
  {
    guard !releasing.withLock({ $0.contains(id) }) else {
      // Otherwise the release of the previous mark could also release this one, while its request is being
      // sent.
      throw StoreError(.unavailable, "mark", "the appointment has not been released yet")
    }
    try checkClock()
    hold(id, until: deadline)
    do throws(StoreError) {
      let isMarked = try await base.mark(id, for: due, deadline: deadline, handover)
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

  /// Takes back a mark of this process after an attempt that certainly requested no call. Returns when that
  /// is certain, or the process ends.
  /// - Parameters:
  ///   - due: The time of the next attempt.
  ///   - code: The code of the attempt's failure; nil if it does not count as an attempt.
  /// - Returns: False if another instance recovered the record as `unknown`, because this process seemed to
  ///   be gone. Then settle the callback.
  package func release(_ id: CallbackID, until due: Instant, code: String?) async -> Bool {
    await release(id, until: due, code: code, isMarked: true)
  }

  /// - Parameter isMarked: Whether the mark is certain.
  private func release(_ id: CallbackID, until due: Instant, code: String?, isMarked: Bool) async -> Bool {
    releasing.withLock { _ = $0.insert(id) }
    var isOwn = isMarked
    var isScheduled = true
    await save(
      id.description, StoredCallback.Status.scheduled.rawValue,
      late: { if isScheduled { self.log.settledLate(id: $0, state: $1) } },
      { () throws(StoreError) in
        do throws(StoreError) {
          isScheduled = try await self.base.postpone(id, until: due, code: code)
        } catch {
          // Once the appointment may be scheduled again, other instances may mark it. A later retry may then
          // find their mark.
          if error.isInDoubt { isOwn = false }
          throw error
        }
      })
    releasing.withLock { _ = $0.remove(id) }
    forget(id)
    return isScheduled || !isOwn
  }

  // MARK: Finding out

  /// The result of a commit in doubt.
  private enum Fact: Sendable {
    case record(StoredCallback)
    case missing
  }

  /// The record of an appointment, if its end in doubt was committed. Waits until that is certain. Nil if the
  /// end was not committed, or the process ends first.
  /// - Parameter now: The time of the end whose commit failed. It distinguishes that end from an end by
  ///   others.
  package func ended(
    _ id: CallbackID, _ ending: AppointmentEnding, at now: Instant
  ) async -> StoredCallback? {
    guard case .record(let record) = await fact(id, ending.status),
      record.status == ending.status, record.settledAt == now
    else { return nil }
    return record
  }

  private func fact(_ id: CallbackID, _ status: StoredCallback.Status) async -> Fact? {
    var fact: Fact?
    await save(
      id.description, status.rawValue, late: log.knownLate, failed: log.notKnown
    ) { () throws(StoreError) in
      fact = try await self.base.certainRecord(id).map(Fact.record) ?? .missing
    }
    return fact
  }

  /// Checks in the background whether a change of an installation, whose commit is in doubt, was made.
  /// - Parameter step: Queries the store, and completes the change if it was made. Throws until that is
  ///   certain.
  package func findOut(
    _ id: InstallationID, _ step: @escaping @Sendable () async throws(StoreError) -> Void
  ) {
    inBackground {
      await self.save(
        id.description, "installation", late: self.log.knownLate, failed: self.log.notKnown, step)
    }
  }

  // MARK: Trying again

  /// Runs work in the background. The process waits for it before it exits.
  package func inBackground(_ body: @escaping @Sendable () async -> Void) {
    inHand.enter()
    Task {
      await body()
      inHand.leave()
    }
  }

  /// Runs a step, and repeats it until it succeeds or the process ends.
  ///
  /// - Parameters:
  ///   - failure: The error of the first attempt; nil if there was no attempt yet.
  ///   - late: Logs a success after a failed attempt.
  ///   - failed: Logs the first failure, and the last one; nil for `CallbackLog.notSettled`.
  private func save(
    _ id: String, _ state: String, after failure: StoreError? = nil,
    late: (_ id: String, _ state: String) -> Void,
    failed: ((_ error: any Error, _ id: String, _ state: String, _ isLast: Bool) -> Void)? = nil,
    _ step: () async throws(StoreError) -> Void
  ) async {
    let failed = failed ?? log.notSettled
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
    failed(last, id, state, false)
    repeat {
      let pause = Duration.seconds(pauses.first ?? 5)
      if pauses.count > 1 { pauses.removeFirst() }
      // This task is never canceled.
      try? await clock.sleep(until: clock.now + pause)
      do throws(StoreError) {
        try await step()
        return late(id, state)
      } catch {
        last = error
      }
    } while !isEnded.withLock { $0 }
    failed(last, id, state, true)
  }
}
