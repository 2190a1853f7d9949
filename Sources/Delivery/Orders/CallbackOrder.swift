// The order to make one callback, and its result.

package import Gate
package import Platform
package import Records
package import Store
package import Tokens

/// An allowed callback, with everything that is needed to make it.
///
/// A class: thousands may wait for Talkdesk, and each suspended function would keep a copy of a struct.
package final class CallbackOrder: Sendable {
  /// The grant for this one callback. Getting a token requires it.
  let grant: Grant
  /// The record to save, with its key. For an appointment, the record to mark.
  package let intent: CallbackIntent
  /// The body for the provider.
  package let content: [UInt8]
  /// The deadline of the response or, for an appointment, of this attempt.
  package let deadline: MonotonicTime
  /// The context of the request that ordered the callback.
  package let context: RequestContext
  /// Checks the caller again after a wait, and returns why the callback must not be sent. Nil for callers
  /// that only a reload can remove.
  let recheck: (@Sendable () async -> Undelivered?)?
  /// The times of an appointment; nil for an immediate callback. An appointment already has a record, which
  /// is marked before the call.
  package let appointment: OrderedAppointment?

  /// Creates an order. Consumes the grant.
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

/// The result of an order.
package struct DeliveryResult: Sendable {
  package enum Outcome: Sendable {
    /// The provider accepted the callback. Its record was created, or its appointment marked, at this time.
    case accepted(createdAt: Instant)
    /// The callback was not made, or may have been made.
    /// - isRecorded: Whether the callback has a record.
    case undelivered(Undelivered, isRecorded: Bool)
    /// An earlier request with the same key already has a result.
    case replay(StoredCallback)
    /// The appointment waits for another attempt at this time: the provider certainly accepted nothing.
    case postponed(Undelivered, until: Instant)
    /// This process does not make the appointment's call: another process does, or the appointment was moved
    /// or has ended.
    case elsewhere
  }

  package let outcome: Outcome
  /// Whether the token came from the cache; `none` if the server did not request a token.
  package let cache: AuditRecord.CacheUse
  /// The status of the last response, from Talkdesk ID or from the provider.
  package let upstreamStatus: Int?

  init(_ outcome: Outcome, cache: AuditRecord.CacheUse = .none, upstreamStatus: Int? = nil) {
    self.outcome = outcome
    self.cache = cache
    self.upstreamStatus = upstreamStatus
  }

  /// Whether the appointment has now ended, certainly without a call. Then its allowances are given back.
  package var endsWithoutCall: Bool {
    switch outcome {
    case .undelivered(.unknown, _): false
    case .undelivered(_, let isRecorded): isRecorded
    case .accepted, .replay, .postponed, .elsewhere: false
    }
  }

  /// A result without a record.
  init(_ reason: Undelivered, cache: AuditRecord.CacheUse = .none, upstreamStatus: Int? = nil) {
    self.init(.undelivered(reason, isRecorded: false), cache: cache, upstreamStatus: upstreamStatus)
  }
}

/// The reason why a callback was not made, or is not known to have been made.
package enum Undelivered: Sendable {
  /// The callback got no turn, or its time ran out.
  case noTurn(CallbackQueue.Refusal)
  /// The server got no token.
  case noToken(TokenError)
  /// An operator stopped the callback while it waited.
  case stopped
  /// An operator blocked the number while the callback waited.
  case blocked
  /// The installation was revoked or replaced while the callback waited.
  case revoked
  /// The store could not confirm that the installation is still valid.
  case unchecked
  /// The client closed the connection before the callback had a record.
  case clientLeft
  /// The store failed before anything was sent.
  case notSaved
  /// The audit log could not be written before anything was sent.
  case unaudited
  /// The first request with the same key is still running.
  case inProgress
  /// The key belongs to another request.
  case mismatch
  /// An allowance was exhausted when the record was to be saved (`RecordCharges.refusal`).
  case exhausted
  /// The same owner requested a callback to this number before. The value is that callback.
  case duplicate(of: CallbackID)
  /// The provider accepted nothing.
  case notAccepted(CourierReport.Reason)
  /// The provider may have accepted the callback. The value says whether the provider responded.
  case unknown(isAnswered: Bool)

  init?(_ outcome: CourierReport.Outcome) {
    switch outcome {
    case .accepted: return nil
    case .notAccepted(let reason): self = .notAccepted(reason)
    case .unknown(let isAnswered): self = .unknown(isAnswered: isAnswered)
    }
  }

  /// Whether retries with the same key return this result again, because it concerns the callback itself.
  /// After every other result the key may be used again.
  var isKept: Bool {
    switch self {
    case .unknown, .notAccepted(.rejected), .notAccepted(.refused): true
    case .notAccepted(.tokenRefused), .notAccepted(.forbidden), .notAccepted(.rateLimited),
      .notAccepted(.unavailable), .notAccepted(.unreachable), .noTurn, .noToken, .stopped, .blocked, .revoked,
      .unchecked, .clientLeft, .notSaved, .unaudited, .inProgress, .mismatch, .exhausted, .duplicate:
      false
    }
  }
}
