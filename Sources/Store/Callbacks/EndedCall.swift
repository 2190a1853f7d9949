// Finds the one callback that a call of Talkdesk's explains.

public import Gate

/// A call that has ended, as Talkdesk tells it.
public struct EndedCall: Hashable, Sendable {
  /// Talkdesk's id of the call.
  public let id: String
  /// The number of the person.
  public let contact: E164
  /// The account's own number.
  public let talkdesk: E164
  /// When the call began.
  public let start: Instant
  /// What became of it.
  public let outcome: CallOutcome

  /// A call.
  public init(id: String, contact: E164, talkdesk: E164, start: Instant, outcome: CallOutcome) {
    self.id = id
    self.contact = contact
    self.talkdesk = talkdesk
    self.start = start
    self.outcome = outcome
  }
}

/// A callback that is handed over to Talkdesk: its numbers, and when.
public struct CallHandover: Hashable, Sendable {
  /// The number of the person.
  public let contact: E164
  /// The account's own number.
  public let talkdesk: E164
  /// The time of the request.
  public let time: Instant

  /// A callback that is handed over.
  public init(contact: E164, talkdesk: E164, time: Instant) {
    self.contact = contact
    self.talkdesk = talkdesk
    self.time = time
  }
}

extension CallbackIntent {
  /// Its call, handed over now; nil where its content names no number of the account.
  package func handover(at now: Instant) -> CallHandover? {
    talkdeskNumber.map { CallHandover(contact: contact, talkdesk: $0, time: now) }
  }
}

extension StoreIDMaker {
  /// What a record saves of it.
  func handover(_ handover: CallHandover) -> CallbackBook.Handover {
    CallbackBook.Handover(
      numbers: numbers(contact: handover.contact, talkdesk: handover.talkdesk), time: handover.time)
  }
}

/// How far the beginning of a call may be from the moment when its callback was handed over to Talkdesk.
public struct CallWindow: Hashable, Sendable {
  /// A call may begin so long before the callback was handed over: the difference of two clocks.
  public var before: Duration
  /// A call may begin so long after it: the wait for an agent.
  public var after: Duration

  /// A window.
  public init(before: Duration, after: Duration) {
    self.before = before
    self.after = after
  }
}

/// What an ended call explains.
public enum CallMatch: Hashable, Sendable {
  /// One callback, whose record has its outcome now.
  case set(StoredCallback)
  /// A callback whose record had the outcome of this call before.
  case known(StoredCallback)
  /// No callback.
  case none
  /// The callback that it may explain is not settled yet.
  case pending
  /// Several callbacks, so none of them.
  case several
}

/// A store that finds the callback that a call explains.
public protocol OutcomeStore: Sendable {
  /// Sets the outcome of a callback if the call explains exactly this one. A record never changes its outcome, and a call explains at
  /// most one callback, however many instances try at once. Doing it again changes nothing.
  ///
  /// - Parameter now: The time from which notices tell the outcome.
  func conclude(_ call: EndedCall, within window: CallWindow, at now: Instant) async throws(StoreError)
    -> CallMatch
}

extension EndedCall {
  /// The callback that a call explains, among those between its numbers in its window.
  ///
  /// A call belongs to a callback that was handed over. One that is pending may be it, so nothing is certain before it is settled.
  /// - Parameters:
  ///   - call: The hash of the call's id.
  ///   - outcome: What became of it.
  /// - Returns: The callback; nil and what it is otherwise.
  static func candidate(
    among records: [StoredCallback], for call: StoreID?, _ outcome: CallOutcome
  ) -> (callback: CallbackID?, otherwise: CallMatch) {
    if let known = records.first(where: { $0.outcome?.isOf(call, outcome) == true }) {
      return (nil, .known(known))
    }
    // Of so many there may be more that were not read.
    guard records.count < mostRead else { return (nil, .several) }
    let open = records.filter { $0.outcome == nil && $0.mayHaveCall }
    guard let first = open.first else { return (nil, .none) }
    guard open.count == 1 else { return (nil, .several) }
    return first.status == .pending ? (nil, .pending) : (first.id, .none)
  }

  /// How many callbacks of a window are read. As many are taken for several that fit.
  package static let mostRead = 100
}

/// A call whose callbacks are looked for.
package struct SoughtCall: Hashable, Sendable {
  /// The hash of its numbers.
  package let numbers: StoreID
  private let first, last: Instant

  init(_ call: EndedCall, _ numbers: StoreID, within window: CallWindow) {
    self.numbers = numbers
    first = call.start.advanced(by: .zero - window.after)
    last = call.start.advanced(by: window.before)
  }

  /// What `CallbackStatements.ofCall` takes.
  package var parameters: [ColumnValue] {
    [.id(numbers), .time(first), .time(last), .integer(Int64(EndedCall.mostRead))]
  }

  /// Whether a callback that was handed over may be its.
  func mayBe(_ handover: CallbackBook.Handover) -> Bool {
    handover.numbers == numbers && first <= handover.time && handover.time <= last
  }
}

extension CallOutcome {
  /// The ends of a call by two sources differ by no more than this.
  private static let spread = Duration.seconds(60)

  /// Whether it is the outcome of that call: by its id, or, where another source with ids of its own tells it, by its end. Two calls
  /// between the same two numbers do not end within a minute and are told by one source each.
  fileprivate func isOf(_ call: StoreID?, _ other: CallOutcome) -> Bool {
    if let call, self.call == call { return true }
    let apart = at - other.at
    return source != other.source && apart <= Self.spread && apart >= .zero - Self.spread
  }
}

extension StoredCallback {
  /// Whether Talkdesk may call for it, or have called.
  fileprivate var mayHaveCall: Bool {
    switch status {
    case .pending, .accepted, .unknown: true
    case .scheduled, .failed, .cancelled, .expired: false
    }
  }

  /// Whether Talkdesk may still tell its outcome.
  package var awaitsOutcome: Bool { outcome == nil && (status == .accepted || status == .unknown) }
}

extension CallbackBook {
  /// Sets the outcome of a callback that has none. News of it go out, whatever the app has read before.
  ///
  /// - Parameter sought: The call. Its callbacks were read in this transaction, so one that began since it was matched counts, too.
  mutating func conclude(
    _ id: CallbackID, _ outcome: CallOutcome, of sought: SoughtCall, at now: Instant
  ) -> StoredCallback? {
    let records = rows.values.filter { $0.handover.map(sought.mayBe) ?? false }.map(\.record)
    guard EndedCall.candidate(among: records, for: outcome.call, outcome).callback == id else { return nil }
    guard let row = rows[id], row.record.awaitsOutcome else { return nil }
    let concluded = row.changed { record in
      record.outcome = outcome
      record.notices?.tellAgain(at: now)
    }
    rows[id] = concluded
    changes.rows.insert(id)
    return concluded.record
  }
}
