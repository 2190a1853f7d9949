// The final outcome of a callback, for its record.

public import Gate

/// The outcome of a callback, as reported by the process that sent it.
public struct CallbackSettlement: Hashable, Sendable {
  /// The outcome of the request to the provider: Talkdesk or, for a ticket, the chat desk.
  public enum Outcome: String, Sendable {
    /// The provider accepted the request.
    case accepted
    /// The provider certainly did not accept the request, so an equal request is not a duplicate.
    case failed
    /// The provider may have accepted the request.
    case unknown
  }

  public let outcome: Outcome
  /// Why the outcome is not `accepted`: a problem's code.
  public let code: String?
  /// The status of Talkdesk's reply; nil if none came, and for a ticket.
  public let upstreamStatus: Int?
  /// Talkdesk's `platform-tid`, if the reply had one.
  public let platformTID: String?
  /// The names of the fields that Talkdesk refused, for retries with the same key.
  public let refusedFields: [String]
  /// Whether retries with the same key get this outcome. Otherwise the key is freed, except for an
  /// appointment's key, which is always kept.
  public let keepsKey: Bool
  /// How long the key is kept, counted from the creation of the callback. Nil keeps the expiry that `begin`
  /// set. An appointment keeps its key as long as its terms say.
  public let keyRetention: Duration?
  /// The ticket that the desk opened; nil for a callback, and if the ticket is not known.
  public let ticket: StoredTicket?
  public let time: Instant
  /// Whether the app has read this outcome in a response, so that no notification is sent.
  public var isTold = false
  /// The allowances that the record took and that this outcome gives back.
  public var returned: [KeptReceipt] = []

  public init(
    _ outcome: Outcome, code: String? = nil, upstreamStatus: Int? = nil, platformTID: String? = nil,
    refusedFields: [String] = [], keepsKey: Bool, keyRetention: Duration? = nil,
    ticket: StoredTicket? = nil, at time: Instant
  ) {
    self.outcome = outcome
    self.code = code
    self.upstreamStatus = upstreamStatus
    self.platformTID = platformTID
    self.refusedFields = refusedFields
    self.keepsKey = keepsKey
    self.keyRetention = keyRetention
    self.ticket = ticket
    self.time = time
  }
}

extension StoredCallback.Status {
  /// The status of a record with an outcome.
  init(_ outcome: CallbackSettlement.Outcome) {
    self =
      switch outcome {
      case .accepted: .accepted
      case .failed: .failed
      case .unknown: .unknown
      }
  }
}
