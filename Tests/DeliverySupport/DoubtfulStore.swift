// A store for tests whose connection breaks on demand.

import Gate
import Store
import StoreSupport
import Synchronization
import Testing

/// A store whose connection can break during a commit. The caller gets an error, and the commit may have
/// happened or not.
final class DoubtfulStore: StoreDecorator {
  enum Fate { case fine, refused, committedInDoubt, lostInDoubt }

  private struct State {
    var fate = Fate.fine
    var withdraws = true
    var settles = true
    var postpones = Fate.fine
    var ends = Fate.fine
    var isCertain = true
    var tries = 0
    var onMark: (@Sendable () async throws -> Void)?
    var looks = Fate.fine
    var onLook: (@Sendable () async throws -> Void)?
  }

  let base = memoryStore()
  private let state = Mutex(State())

  /// Result of `begin`, `book` and `mark`, and whether `withdraw` works.
  func set(_ fate: Fate, withdraws: Bool = true) {
    state.withLock { ($0.fate, $0.withdraws) = (fate, withdraws) }
  }
  func set(settles: Bool) { state.withLock { $0.settles = settles } }
  func set(postpones: Fate) { state.withLock { $0.postpones = postpones } }
  /// Whether `certainRecord` can find out whether a commit in doubt happened.
  func set(isCertain: Bool) { state.withLock { $0.isCertain = isCertain } }
  /// Result of ending an appointment.
  func set(ends: Fate) { state.withLock { $0.ends = ends } }
  /// Runs after a mark is committed and before `mark` returns.
  func onMark(_ body: @escaping @Sendable () async throws -> Void) { state.withLock { $0.onMark = body } }
  /// Result of `dueAppointments`.
  func set(looks: Fate) { state.withLock { $0.looks = looks } }
  /// Runs after due appointments are read and before `dueAppointments` returns.
  func onLook(_ body: @escaping @Sendable () async throws -> Void) { state.withLock { $0.onLook = body } }
  /// Number of calls of `withdraw`, `settle`, `postpone` and `certainRecord`.
  var tries: Int { state.withLock { $0.tries } }

  private func run(_ body: (@Sendable () async throws -> Void)?) async {
    do { try await body?() } catch { Issue.record(error) }
  }

  private func commit<Result>(_ fate: Fate, _ body: () async throws(StoreError) -> Result)
    async throws(StoreError) -> Result
  {
    if fate == .refused { throw StoreError(.unavailable, "connect", "refused") }
    if fate == .lostInDoubt { throw StoreError(.unavailable, "receive", "lost", isInDoubt: true) }
    let result = try await body()
    if fate == .committedInDoubt { throw StoreError(.unavailable, "receive", "lost", isInDoubt: true) }
    return result
  }

  private func start<Result>(_ body: () async throws(StoreError) -> Result) async throws(StoreError) -> Result
  {
    try await commit(state.withLock { $0.fate }, body)
  }

  private func end<Result>(
    _ fate: (State) -> Fate, _ body: () async throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    let fate = state.withLock { state in
      state.tries += 1
      return fate(state)
    }
    return try await commit(fate, body)
  }

  func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning {
    try await start { () async throws(StoreError) in try await base.begin(intent, at: now) }
  }

  func withdraw(_ id: CallbackID, returning receipts: [AllowanceReceipt], at now: Instant)
    async throws(StoreError)
  {
    try await end(
      { $0.withdraws ? .fine : .refused },
      { () async throws(StoreError) in try await base.withdraw(id, returning: receipts, at: now) })
  }

  func settle(
    _ id: CallbackID, _ settlement: CallbackSettlement
  ) async throws(StoreError) -> StoredCallback? {
    try await end(
      { $0.settles ? .fine : .refused },
      { () async throws(StoreError) in try await base.settle(id, settlement) })
  }

  // MARK: Appointments

  func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult {
    try await start { () async throws(StoreError) in try await base.book(booking, at: now) }
  }

  func mark(_ id: CallbackID, for due: Instant, deadline: Instant, _ handover: CallHandover?)
    async throws(StoreError) -> Bool
  {
    let isMarked = try await start { () async throws(StoreError) in
      try await base.mark(id, for: due, deadline: deadline, handover)
    }
    await run(state.withLock { $0.onMark })
    return isMarked
  }

  func postpone(_ id: CallbackID, until due: Instant, code: String?) async throws(StoreError) -> Bool {
    try await end(\.postpones) { () async throws(StoreError) in
      try await base.postpone(id, until: due, code: code)
    }
  }

  func end(
    _ id: CallbackID, _ ending: AppointmentEnding, returning receipts: [AllowanceReceipt], at now: Instant
  ) async throws(StoreError) -> EndResult {
    try await commit(state.withLock { $0.ends }) { () async throws(StoreError) in
      try await base.end(id, ending, returning: receipts, at: now)
    }
  }

  func certainRecord(_ id: CallbackID) async throws(StoreError) -> StoredCallback? {
    try await end(
      { $0.isCertain ? .fine : .refused }, { () async throws(StoreError) in try await base.certainRecord(id) }
    )
  }

  func dueAppointments(at time: Instant, most: Int) async throws(StoreError) -> [DueAppointment] {
    let (looks, onLook) = state.withLock { ($0.looks, $0.onLook) }
    let found = try await commit(looks) { () async throws(StoreError) in
      try await base.dueAppointments(at: time, most: most)
    }
    await run(onLook)
    return found
  }
}
