// A store for tests whose connection breaks when a test says so.

import Gate
import Store
import Synchronization

/// A store whose connection breaks: what it is asked to begin, book, mark or postpone may be there all the same.
final class DoubtfulStore: CallbackStore, AppointmentStore {
  enum Fate { case fine, refused, committedInDoubt, lostInDoubt }

  private struct State {
    var fate = Fate.fine
    var withdraws = true
    var settles = true
    var postpones = Fate.fine
    var ends = Fate.fine
    var isCertain = true
    var tries = 0
    var onMark: (@Sendable () -> Void)?
    var looks = Fate.fine
    var onLook: (@Sendable () -> Void)?
  }

  let memory = MemoryStore()
  private let state = Mutex(State())

  /// What beginning, booking and marking come to.
  func set(_ fate: Fate, withdraws: Bool = true) {
    state.withLock { ($0.fate, $0.withdraws) = (fate, withdraws) }
  }
  func set(settles: Bool) { state.withLock { $0.settles = settles } }
  func set(postpones: Fate) { state.withLock { $0.postpones = postpones } }
  /// Whether it can say what came of a commit in doubt.
  func set(isCertain: Bool) { state.withLock { $0.isCertain = isCertain } }
  /// What ending an appointment comes to.
  func set(ends: Fate) { state.withLock { $0.ends = ends } }
  /// Runs when a mark is committed, before it is answered.
  func onMark(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onMark = body } }
  /// What looking for due appointments comes to.
  func set(looks: Fate) { state.withLock { $0.looks = looks } }
  /// Runs when due appointments are read, before they are answered.
  func onLook(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onLook = body } }
  /// How often it was asked to withdraw, settle or postpone, or what came of something.
  var tries: Int { state.withLock { $0.tries } }

  private func commit<Result>(_ fate: Fate, _ body: () -> Result) throws(StoreError) -> Result {
    if fate == .refused { throw StoreError(.unavailable, "connect", "refused") }
    if fate == .lostInDoubt { throw StoreError(.unavailable, "receive", "lost", isInDoubt: true) }
    let result = body()
    if fate == .committedInDoubt { throw StoreError(.unavailable, "receive", "lost", isInDoubt: true) }
    return result
  }

  private func start<Result>(_ body: () -> Result) throws(StoreError) -> Result {
    try commit(state.withLock { $0.fate }, body)
  }

  private func end<Result>(
    _ fate: (State) -> Fate, _ body: () -> Result
  ) throws(StoreError) -> Result {
    let fate = state.withLock { state in
      state.tries += 1
      return fate(state)
    }
    return try commit(fate, body)
  }

  func standing(of intent: CallbackIntent, at now: Instant) -> CallbackStanding {
    memory.standing(of: intent, at: now)
  }

  func begin(_ intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackBeginning {
    try start { memory.begin(intent, at: now) }
  }

  func withdraw(_ id: CallbackID, returning receipts: [AllowanceReceipt], at now: Instant) throws(StoreError)
  {
    try end(
      { $0.withdraws ? .fine : .refused }, { memory.withdraw(id, returning: receipts, at: now) })
  }

  func settle(
    _ id: CallbackID, _ settlement: CallbackSettlement
  ) throws(StoreError) -> StoredCallback? {
    try end({ $0.settles ? .fine : .refused }, { memory.settle(id, settlement) })
  }

  func callback(_ id: CallbackID, of callerID: String) -> StoredCallback? {
    memory.callback(id, of: callerID)
  }

  func recoverCallbacks(at now: Instant, besides inHand: Set<CallbackID>) -> RecoveredRecords {
    memory.recoverCallbacks(at: now, besides: inHand)
  }

  // MARK: Appointments

  func book(_ booking: Booking, at now: Instant) throws(StoreError) -> BookingResult {
    try start { memory.book(booking, at: now) }
  }

  func mark(_ id: CallbackID, for due: Instant, deadline: Instant) throws(StoreError) -> Bool {
    let isMarked = try start { memory.mark(id, for: due, deadline: deadline) }
    state.withLock { $0.onMark }?()
    return isMarked
  }

  func postpone(_ id: CallbackID, until due: Instant, code: String?) throws(StoreError) -> Bool {
    try end(\.postpones) { memory.postpone(id, until: due, code: code) }
  }

  func move(_ booking: Booking, at now: Instant) -> MoveResult { memory.move(booking, at: now) }

  func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) throws(StoreError) -> EndResult {
    try commit(state.withLock { $0.ends }) { memory.end(id, ending, at: now) }
  }

  func certainRecord(_ id: CallbackID) throws(StoreError) -> StoredCallback? {
    try end({ $0.isCertain ? .fine : .refused }, { memory.certainRecord(id) })
  }

  func dueAppointments(at time: Instant, most: Int) throws(StoreError) -> [DueAppointment] {
    let (looks, onLook) = state.withLock { ($0.looks, $0.onLook) }
    let found = try commit(looks) { memory.dueAppointments(at: time, most: most) }
    onLook?()
    return found
  }

  func scheduledAppointment(_ id: CallbackID) -> DueAppointment? { memory.scheduledAppointment(id) }

  func appointments(of callerID: String, subject: String, most: Int) -> [StoredCallback] {
    memory.appointments(of: callerID, subject: subject, most: most)
  }

  func appointmentsWithoutOrigin(most: Int) -> [DueAppointment] {
    memory.appointmentsWithoutOrigin(most: most)
  }
  func note(_ origin: CallbackOrigin, of id: CallbackID) { memory.note(origin, of: id) }
  func takenPlaces(in slots: ClosedRange<Int64>) -> [Int64: Int] { memory.takenPlaces(in: slots) }

  func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) -> Bool {
    memory.rewrite(id, from: old, to: new)
  }
  func callbacks(_ query: AliasQuery) -> [StoredCallback] { memory.callbacks(query) }
  func callbacks(_ ids: Set<CallbackID>) -> [StoredCallback] { memory.callbacks(ids) }

  func appointmentCounts(dueBefore time: Instant) -> AppointmentCounts {
    memory.appointmentCounts(dueBefore: time)
  }
}
