// The rows that one transaction has read, and the changes that its jobs make to them.

package import Gate
import JOSE
import Platform

/// The jobs of a transaction, with store ids in place of keys, and the states that they change.
///
/// A store reads and locks the rows that `allowances`, `begins` and `callbacks` name, and adds them. Then it
/// runs the jobs, and saves `writes` and the changes of `book`.
package struct WorkingSet {
  private indirect enum Named {
    case allowances([StoreID], Instant, ([AllowanceState?], Instant) -> [AllowanceWrite])
    case begin(CallbackIntent, CallbackNames, [StoreID], Instant, (CallbackBeginning) -> Void)
    case settle(CallbackID, CallbackSettlement, [StoreID], (StoredCallback?) -> Void)
    case withdraw(CallbackID, [AllowanceReceipt], [StoreID], Instant, (Bool) -> Void)
    case book(Booking, BookingNames, [StoreID], Instant, (BookingResult) -> Void)
    case move(Booking, BookingNames, Instant, (MoveResult) -> Void)
    case rewrite(CallbackID, [UInt8], [UInt8], (Bool) -> Void)
    case mark(CallbackID, Instant, Instant, CallbackBook.Handover?, (Bool) -> Void)
    case postpone(CallbackID, Instant, String?, (Bool) -> Void)
    case end(CallbackID, AppointmentEnding, [AllowanceReceipt], [StoreID], Instant, (EndResult) -> Void)
    case takeNotice(DueNotice, SHA256Digest, Instant, Instant, (Bool) -> Void)
    case settleNotice(DueNotice, NoticeOutcome, (Bool) -> Void)
    case reschedule(Rescheduling, Instant, (ReschedulingResult) -> Void)
    case conclude(CallbackID, CallOutcome, SoughtCall, Instant, (StoredCallback?) -> Void)
    case told(CallbackID, (Bool) -> Void)
    case note(CallbackID, CallbackOrigin, (Bool) -> Void)
  }

  private var jobs: [Named] = []
  /// The allowances to read.
  package private(set) var allowances: Set<StoreID> = []
  /// The keys and dedupe entries to read, for callbacks that begin and appointments that are booked or moved.
  package private(set) var begins: [CallbackNames] = []
  /// The slots whose appointments to count, by their first seconds.
  package private(set) var slots: Set<Int64> = []
  /// The numbers whose appointments to read.
  package private(set) var numbers: Set<StoreID> = []
  /// The installations that book appointments. They are locked first, so that none is revoked meanwhile.
  package private(set) var installations: Set<InstallationIdentity> = []
  /// Whether this process begins a callback, or marks an appointment for its call. The store then saves the
  /// process's heartbeat first.
  package private(set) var startsCallbacks = false
  /// Whether a caller may look up the outcome if the commit is in doubt: of a new record, or of the end of an
  /// appointment. The store then remembers the transaction.
  package private(set) var isFoundOut = false
  /// The records to read. These include callbacks that are about to begin, whose ids must be free.
  package private(set) var callbacks: Set<CallbackID> = []
  /// The records among `callbacks` whose keys and dedupe entries are read too, because the jobs may change
  /// them.
  package private(set) var ending: Set<CallbackID> = []

  /// The ended calls to match. All callbacks that may belong to them are read again, including those that
  /// began after the first match.
  package private(set) var calls: [SoughtCall] = []
  /// The hashes of the two numbers of each call, which are locked before anything else. So a callback between
  /// these numbers begins either before or after a call is matched.
  package private(set) var lines: Set<StoreID> = []

  /// The time by the database's clock after the allowances are locked; nil if the store has not read it.
  package var databaseTime: Instant?
  private var states: [StoreID: AllowanceState?] = [:]
  /// The allowances that the appointments of a revoked or replaced installation give back when they end.
  private var returned: [CallbackID: (receipts: [AllowanceReceipt], ids: [StoreID])] = [:]
  /// The changes of allowances to save.
  package private(set) var writes: [StoreID: AllowanceWrite] = [:]
  /// The rows of callbacks and their changes.
  package var book = CallbackBook()

  package init(_ jobs: [UpdateJob], ids maker: StoreIDMaker) {
    self.jobs.reserveCapacity(jobs.count)
    func ids(of keys: [AllowanceKey]) -> [StoreID] {
      let ids = keys.map { maker.id(of: $0) }
      allowances.formUnion(ids)
      return ids
    }
    for job in jobs {
      switch job.work {
      case .allowances(let keys, let now, let body):
        self.jobs.append(.allowances(ids(of: keys), now, body))
      case .callback(.begin(let intent, let now, let onResult)):
        let names = maker.names(of: intent)
        begins.append(names)
        if let line = names.numbers { lines.insert(line) }
        callbacks.insert(intent.id)
        startsCallbacks = true
        isFoundOut = true
        self.jobs.append(.begin(intent, names, ids(of: intent.chargedKeys), now, onResult))
      case .callback(.settle(let id, let settlement, let onResult)):
        callbacks.insert(id)
        ending.insert(id)
        let returned = ids(of: settlement.returned.map { AllowanceReceipt($0).key })
        self.jobs.append(.settle(id, settlement, returned, onResult))
      case .callback(.withdraw(let id, let receipts, let now, let onResult)):
        callbacks.insert(id)
        ending.insert(id)
        self.jobs.append(.withdraw(id, receipts, ids(of: receipts.map(\.key)), now, onResult))
      case .callback(.book(let booking, let now, let onResult)):
        let names = maker.names(of: booking)
        read(booking, names.callback, names.number)
        if let installation = booking.intent.installation { installations.insert(installation) }
        isFoundOut = true
        self.jobs.append(.book(booking, names, ids(of: booking.intent.chargedKeys), now, onResult))
      case .callback(.move(let booking, let now, let onResult)):
        let names = maker.names(of: booking)
        read(booking, CallbackNames(key: nil, fingerprint: nil, place: names.callback.place), names.number)
        ending.insert(booking.intent.id)
        self.jobs.append(.move(booking, names, now, onResult))
      case .callback(.rewrite(let id, let old, let new, let onResult)):
        callbacks.insert(id)
        self.jobs.append(.rewrite(id, old, new, onResult))
      case .callback(.mark(let id, let due, let deadline, let handover, let onResult)):
        callbacks.insert(id)
        startsCallbacks = true
        let handover = handover.map(maker.handover)
        if let handover { lines.insert(handover.numbers) }
        self.jobs.append(.mark(id, due, deadline, handover, onResult))
      case .callback(.postpone(let id, let due, let code, let onResult)):
        callbacks.insert(id)
        self.jobs.append(.postpone(id, due, code, onResult))
      case .callback(.end(let id, let ending, let receipts, let now, let onResult)):
        callbacks.insert(id)
        self.ending.insert(id)
        isFoundOut = true
        self.jobs.append(.end(id, ending, receipts, ids(of: receipts.map(\.key)), now, onResult))
      case .callback(.takeNotice(let notice, let id, let lease, let now, let onResult)):
        callbacks.insert(notice.record.id)
        self.jobs.append(.takeNotice(notice, id, lease, now, onResult))
      case .callback(.settleNotice(let notice, let outcome, let onResult)):
        callbacks.insert(notice.record.id)
        self.jobs.append(.settleNotice(notice, outcome, onResult))
      case .callback(.reschedule(let change, let now, let onResult)):
        callbacks.insert(change.id)
        ending.insert(change.id)
        self.jobs.append(.reschedule(change, now, onResult))
      case .callback(.conclude(let id, let call, let window, let now, let onResult)):
        callbacks.insert(id)
        var outcome = call.outcome
        outcome.call = maker.name(ofCall: call.id)
        let sought = SoughtCall(
          call, maker.numbers(contact: call.contact, talkdesk: call.talkdesk), within: window)
        calls.append(sought)
        lines.insert(sought.numbers)
        self.jobs.append(.conclude(id, outcome, sought, now, onResult))
      case .callback(.told(let id, let onResult)):
        callbacks.insert(id)
        self.jobs.append(.told(id, onResult))
      case .callback(.note(let origin, let id, let onResult)):
        callbacks.insert(id)
        self.jobs.append(.note(id, origin, onResult))
      case .session: break
      }
    }
  }

  /// The appointments of a revoked or replaced installation, for a transaction without jobs.
  ///
  /// - Parameter returned: The allowances that each appointment gives back if it ends. An appointment without
  ///   an entry gives nothing back.
  package init(
    succeeding ids: Set<CallbackID>, returning returned: [CallbackID: [KeptReceipt]], ids maker: StoreIDMaker
  ) {
    callbacks = ids
    ending = ids
    for (id, receipts) in returned {
      let receipts = receipts.map { AllowanceReceipt($0) }
      let names = receipts.map { maker.id(of: $0.key) }
      allowances.formUnion(names)
      self.returned[id] = (receipts, names)
    }
  }

  /// Ends the appointments and gives their allowances back, or moves them to another installation.
  ///
  /// - Returns: The appointments that ended.
  package mutating func succeed(
    _ succession: Succession, at now: Instant, turn: TurnTime
  ) -> [EndedAppointment] {
    book.succeed(succession, ending, at: now).map { record in
      let returned = returned[record.id]
      if let (receipts, ids) = returned {
        change(ids, receipts.returns(to: states(ids), at: turn.time(of: now)))
      }
      return EndedAppointment(record: record, returned: returned?.receipts)
    }
  }

  private mutating func read(_ booking: Booking, _ names: CallbackNames, _ number: StoreID) {
    begins.append(names)
    callbacks.insert(booking.intent.id)
    slots.insert(booking.slot)
    numbers.insert(number)
  }

  /// Adds an allowance's state that was read; nil if the store has no state of it.
  package mutating func add(_ id: StoreID, _ state: AllowanceState?) { states.updateValue(state, forKey: id) }

  /// Whether there are no rows to read.
  package var isEmpty: Bool { allowances.isEmpty && begins.isEmpty && callbacks.isEmpty }

  /// Whether there are changes to save.
  package var isChanged: Bool { !writes.isEmpty || !book.changes.isEmpty }

  private func states(_ ids: [StoreID]) -> [AllowanceState?] { ids.map { states[$0] ?? nil } }

  private mutating func change(_ ids: [StoreID], _ changes: [AllowanceWrite]) {
    for (id, change) in zip(ids, changes) {
      switch change {
      case .keep: continue
      case .put(let state, _): states.updateValue(state, forKey: id)
      case .remove: states.updateValue(nil, forKey: id)
      }
      writes[id] = change
    }
  }

  /// Runs the jobs in their order. Each sees the changes of those before it.
  ///
  /// - Parameter turn: The time of the transaction, at which allowances are evaluated. Records get the times
  ///   of their requests instead, because these identify a request whose outcome was in doubt.
  package mutating func run(instance: Int64, at turn: TurnTime) {
    for job in jobs {
      switch job {
      case .allowances(let ids, let now, let body):
        change(ids, body(states(ids), turn.time(of: now)))
      case .begin(let intent, let names, let ids, let now, let onResult):
        let (result, writes) = book.begin(
          intent, names, instance: instance, from: states(ids), at: now, turn: turn.time(of: now))
        change(ids, writes)
        onResult(result)
      case .settle(let id, let settlement, let ids, let onResult):
        if !ids.isEmpty { change(ids, book.returns(of: id, settlement, to: states(ids))) }
        onResult(book.settle(id, settlement))
      case .withdraw(let id, let receipts, let ids, let now, let onResult):
        let isWithdrawn = book.withdraw(id)
        if isWithdrawn { change(ids, receipts.returns(to: states(ids), at: turn.time(of: now))) }
        onResult(isWithdrawn)
      case .book(let booking, let names, let ids, let now, let onResult):
        let (result, writes) = book.book(
          booking, names, instance: instance, from: states(ids), at: now, turn: turn.time(of: now))
        change(ids, writes)
        onResult(result)
      case .move(let booking, let names, let now, let onResult):
        onResult(book.move(booking, names, at: now))
      case .rewrite(let id, let old, let new, let onResult): onResult(book.rewrite(id, old, new))
      case .mark(let id, let due, let deadline, let handover, let onResult):
        onResult(book.mark(id, for: due, deadline: deadline, handover, instance: instance))
      case .postpone(let id, let due, let code, let onResult):
        onResult(book.postpone(id, until: due, code: code, instance: instance))
      case .end(let id, let ending, let receipts, let ids, let now, let onResult):
        let result = book.end(id, ending, at: now)
        if case .ended = result { change(ids, receipts.returns(to: states(ids), at: turn.time(of: now))) }
        onResult(result)
      case .takeNotice(let notice, let id, let lease, let now, let onResult):
        onResult(book.takeNotice(notice, id: id, until: lease, at: now))
      case .settleNotice(let notice, let outcome, let onResult):
        onResult(book.settleNotice(notice, outcome))
      case .reschedule(let change, let now, let onResult):
        onResult(book.reschedule(change, at: now))
      case .conclude(let id, let outcome, let sought, let now, let onResult):
        onResult(book.conclude(id, outcome, of: sought, at: now))
      case .told(let id, let onResult): onResult(book.told(id))
      case .note(let id, let origin, let onResult): onResult(book.note(origin, of: id))
      }
    }
  }
}

/// An expiry in seconds, rounded up to ten minutes, so that the index of expiries seldom changes.
package func coarseExpiry(_ seconds: Int64) -> Int64 {
  seconds.addingClamped(599) / 600 * 600
}
