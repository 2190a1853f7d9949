// Finds the callback that led to a call in Talkdesk, to save the call's outcome.

public import Gate

/// A call that has ended, as Talkdesk reports it.
public struct EndedCall: Hashable, Sendable {
  /// Talkdesk's id for the call.
  public let id: String
  /// The customer's number.
  public let contact: E164
  /// The account's own number.
  public let talkdesk: E164
  /// When the call began.
  public let start: Instant
  public let outcome: CallOutcome

  public init(id: String, contact: E164, talkdesk: E164, start: Instant, outcome: CallOutcome) {
    self.id = id
    self.contact = contact
    self.talkdesk = talkdesk
    self.start = start
    self.outcome = outcome
  }
}

/// The hand-over of a callback to Talkdesk: the numbers of the call, and the time.
public struct CallHandover: Hashable, Sendable {
  /// The customer's number.
  public let contact: E164
  /// The account's own number.
  public let talkdesk: E164
  /// The time of the request to Talkdesk.
  public let time: Instant

  public init(contact: E164, talkdesk: E164, time: Instant) {
    self.contact = contact
    self.talkdesk = talkdesk
    self.time = time
  }
}

extension CallbackIntent {
  /// The hand-over of the intent's call at a time; nil if the intent names no number of the account.
  package func handover(at now: Instant) -> CallHandover? {
    talkdeskNumber.map { CallHandover(contact: contact, talkdesk: $0, time: now) }
  }
}

extension StoreIDMaker {
  /// The hand-over in the form that a record contains.
  func handover(_ handover: CallHandover) -> CallbackBook.Handover {
    CallbackBook.Handover(
      numbers: numbers(contact: handover.contact, talkdesk: handover.talkdesk), time: handover.time)
  }
}

/// The allowed time between the hand-over of a callback to Talkdesk and the beginning of its call.
public struct CallWindow: Hashable, Sendable {
  /// How long before the hand-over a call may begin, because Talkdesk's clock may differ from the server's.
  public var before: Duration
  /// How long after the hand-over a call may begin, because the customer may wait for an agent.
  public var after: Duration

  public init(before: Duration, after: Duration) {
    self.before = before
    self.after = after
  }
}

/// The callback that an ended call belongs to, if any.
public enum CallMatch: Hashable, Sendable {
  /// Exactly one callback. Its record has the outcome of the call now.
  case set(StoredCallback)
  /// A callback whose record already had the outcome of this call.
  case known(StoredCallback)
  case none
  /// Not known yet: the callback that may match is not settled, or other transactions were faster each time.
  case pending
  /// Several callbacks match, or too many to read them all. None of them gets the outcome.
  case several
}

/// A store that finds the callback that a call belongs to.
public protocol OutcomeStore: Sendable {
  /// Sets the outcome of the callback that a call belongs to, if exactly one matches. A saved outcome is
  /// never replaced, and a call belongs to at most one callback, even if several instances try at once. A
  /// repetition changes nothing.
  ///
  /// - Parameter now: The current time. The notification of the outcome is due shortly after it.
  func conclude(_ call: EndedCall, within window: CallWindow, at now: Instant) async throws(StoreError)
    -> CallMatch
}

extension EndedCall {
  /// The callback that a call belongs to, among the callbacks between the call's two numbers in the window.
  ///
  /// Only a callback that Talkdesk may have received can match. While the only match is pending, the result
  /// is not certain.
  /// - Parameters:
  ///   - call: The hash of the call's id.
  ///   - outcome: The outcome of the call.
  /// - Returns: The callback; nil and the reason if there is none.
  static func candidate(
    among records: [StoredCallback], for call: StoreID?, _ outcome: CallOutcome
  ) -> (callback: CallbackID?, otherwise: CallMatch) {
    if let known = records.first(where: { $0.outcome?.isOf(call, outcome) == true }) {
      return (nil, .known(known))
    }
    // With this many records, there may be more that were not read.
    guard records.count < mostRead else { return (nil, .several) }
    let open = records.filter { $0.outcome == nil && $0.mayHaveCall }
    guard let first = open.first else { return (nil, .none) }
    guard open.count == 1 else { return (nil, .several) }
    return first.status == .pending ? (nil, .pending) : (first.id, .none)
  }

  /// The maximum number of callbacks that are read for a call. If there are this many, they count as several
  /// matches.
  package static let mostRead = 100
}

/// The search for the callback of a call.
package struct SoughtCall: Hashable, Sendable {
  /// The hash of the call's two numbers.
  package let numbers: StoreID
  private let first, last: Instant

  init(_ call: EndedCall, _ numbers: StoreID, within window: CallWindow) {
    self.numbers = numbers
    first = call.start.advanced(by: .zero - window.after)
    last = call.start.advanced(by: window.before)
  }

  /// The parameters of `CallbackStatements.ofCall`.
  package var parameters: [ColumnValue] {
    [.id(numbers), .time(first), .time(last), .integer(Int64(EndedCall.mostRead))]
  }

  /// Whether the call may belong to a callback with this hand-over.
  func mayBe(_ handover: CallbackBook.Handover) -> Bool {
    handover.numbers == numbers && first <= handover.time && handover.time <= last
  }
}

extension CallOutcome {
  /// The maximum difference between the ends of one call that two sources report.
  private static let spread = Duration.seconds(60)

  /// Whether this is the outcome of that call. Within a source, calls are compared by their ids. Another
  /// source has other ids, so there the ends of the calls are compared. Two calls between the same numbers
  /// would be confused only if they ended within a minute of each other and each was reported by a different
  /// source.
  fileprivate func isOf(_ call: StoreID?, _ other: CallOutcome) -> Bool {
    if let call, self.call == call { return true }
    let apart = at - other.at
    return source != other.source && apart <= Self.spread && apart >= .zero - Self.spread
  }
}

extension StoredCallback {
  /// Whether Talkdesk may make a call for the callback, or may have made one.
  fileprivate var mayHaveCall: Bool {
    switch status {
    case .pending, .accepted, .unknown: true
    case .scheduled, .failed, .cancelled, .expired: false
    }
  }

  /// Whether Talkdesk may still report the outcome of the callback's call.
  package var awaitsOutcome: Bool { outcome == nil && (status == .accepted || status == .unknown) }
}

extension CallbackBook {
  /// Sets the outcome of a callback that has none. The app gets a notification of the outcome, even if it has
  /// read the end before.
  ///
  /// - Parameter sought: The search for the call's callback. Its callbacks were read again in this
  ///   transaction, so that a callback that began after the match counts, too.
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
