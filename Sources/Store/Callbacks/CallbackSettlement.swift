// The final outcome of a callback, for its record.

public import Gate

/// An outcome, as the process that sent the callback saw it.
public struct CallbackSettlement: Hashable, Sendable {
  /// The outcome of the request to Talkdesk.
  public enum Outcome: String, Sendable {
    /// Talkdesk accepted the callback.
    case accepted
    /// Talkdesk certainly did not accept the callback, so another one to the same number is not a duplicate.
    case failed
    /// Talkdesk may have accepted the callback.
    case unknown
  }

  public let outcome: Outcome
  /// Why it is not accepted: a problem's code.
  public let code: String?
  /// The status of Talkdesk's reply, if one came.
  public let upstreamStatus: Int?
  /// Talkdesk's `platform-tid`, if the reply had one.
  public let platformTID: String?
  /// The names of the fields that Talkdesk refused, for repetitions with the same key.
  public let refusedFields: [String]
  /// Whether retries with the same key get this outcome; otherwise the key is free.
  public let keepsKey: Bool
  /// How long the key is kept, from the creation of the callback. Nil leaves it as `begin` set it, at least
  /// as long as the callback could be pending.
  public let keyRetention: Duration?
  /// The ticket that the desk opened; nil for a callback, and if the ticket is not known.
  public let ticket: StoredTicket?
  /// The time of the settlement.
  public let time: Instant
  /// Whether the app has read this outcome in a response, so that no notice is sent.
  public var isTold = false
  /// The allowances that the record has taken and gives back with this outcome.
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
  /// The state that an outcome leads to.
  init(_ outcome: CallbackSettlement.Outcome) {
    self =
      switch outcome {
      case .accepted: .accepted
      case .failed: .failed
      case .unknown: .unknown
      }
  }
}
