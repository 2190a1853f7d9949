// The order to make one callback, and its result.

package import Gate
package import Platform
package import Records
package import Store
package import Tokens

/// A callback that may be made, with all that making it needs.
///
/// A class: thousands may wait for Talkdesk, and each function between would keep a copy of a struct.
package final class CallbackOrder: Sendable {
  /// The leave to make it, once. Tokens for it need this.
  let grant: Grant
  /// Its record to be, and its key.
  package let intent: CallbackIntent
  /// What the provider is sent.
  package let content: [UInt8]
  /// When the answer has to be there.
  package let deadline: MonotonicTime
  /// The request it came with.
  package let context: RequestContext
  /// Says what has come up about its caller while it waited that keeps it from being sent. Nil for callers that only a reload
  /// can remove.
  let recheck: (@Sendable () async -> Undelivered?)?
  /// Its times where it is an appointment's: then its record exists, and is marked before the call.
  package let appointment: OrderedAppointment?

  /// An order, which takes leave for it.
  package init(
    _ grant: consuming Grant, intent: CallbackIntent, content: [UInt8], deadline: MonotonicTime,
    context: RequestContext, recheck: (@Sendable () async -> Undelivered?)? = nil,
    appointment: OrderedAppointment? = nil
  ) {
    precondition(grant.action == .callback && grant.phone == intent.contact)
    self.grant = grant
    self.intent = intent
    self.content = content
    self.deadline = deadline
    self.context = context
    self.recheck = recheck
    self.appointment = appointment
  }
}

/// What came of an order.
package struct DeliveryResult: Sendable {
  package enum Outcome: Sendable {
    /// The provider accepted it, and this is its record.
    case accepted(createdAt: Instant)
    /// The callback was not made, or it may have been.
    /// - isRecorded: Whether it has a record.
    case undelivered(Undelivered, isRecorded: Bool)
    /// An earlier request with its key is settled already.
    case replay(StoredCallback)
    /// An appointment waits for another try at this time: certainly nothing was accepted.
    case postponed(Undelivered, until: Instant)
    /// This process has nothing to do with an appointment: another one has it, or it was moved or has ended.
    case elsewhere
  }

  package let outcome: Outcome
  /// Where the token came from; `none` where none was needed.
  package let cache: AuditRecord.CacheUse
  /// The status that was answered last, by Talkdesk ID or by the provider.
  package let upstreamStatus: Int?

  init(_ outcome: Outcome, cache: AuditRecord.CacheUse = .none, upstreamStatus: Int? = nil) {
    self.outcome = outcome
    self.cache = cache
    self.upstreamStatus = upstreamStatus
  }

  /// Whether an appointment has ended now, and certainly without a call: what was taken for it is to be given back.
  package var endsWithoutCall: Bool {
    switch outcome {
    case .undelivered(.unknown, _): false
    case .undelivered(_, let isRecorded): isRecorded
    case .accepted, .replay, .postponed, .elsewhere: false
    }
  }

  /// Nothing was begun.
  init(_ reason: Undelivered, cache: AuditRecord.CacheUse = .none, upstreamStatus: Int? = nil) {
    self.init(.undelivered(reason, isRecorded: false), cache: cache, upstreamStatus: upstreamStatus)
  }
}

/// Why a callback was not made, or that it may have been.
package enum Undelivered: Sendable {
  /// It got no turn, or may not be sent any more.
  case noTurn(CallbackQueue.Refusal)
  /// There is no token.
  case noToken(TokenError)
  /// An operator stopped it while it waited.
  case stopped
  /// Its installation was revoked or replaced while it waited.
  case revoked
  /// The store could not say whether its installation still holds.
  case unchecked
  /// Its client left before it was begun.
  case clientLeft
  /// The store failed before anything was sent.
  case notSaved
  /// The first request with its key is still running.
  case inProgress
  /// Its key belongs to another request.
  case mismatch
  /// The same owner has asked for this number before: the callback that stands.
  case duplicate(of: CallbackID)
  /// The provider accepted nothing.
  case notAccepted(CourierReport.Reason)
  /// The provider may have accepted it. Whether it answered at all.
  case unknown(isAnswered: Bool)

  init?(_ outcome: CourierReport.Outcome) {
    switch outcome {
    case .accepted: return nil
    case .notAccepted(let reason): self = .notAccepted(reason)
    case .unknown(let isAnswered): self = .unknown(isAnswered: isAnswered)
    }
  }

  /// Whether repetitions with the same key get this answer again: it says something about the callback itself. Everything else
  /// leaves the key free.
  var isKept: Bool {
    switch self {
    case .unknown, .notAccepted(.rejected), .notAccepted(.refused): true
    default: false
    }
  }
}
