// The final outcome of a callback, for its record.

public import Gate

/// An outcome, as the process that sent the callback saw it.
public struct CallbackSettlement: Hashable, Sendable {
  /// The certain outcome.
  public enum Outcome: String, Sendable {
    /// Talkdesk took it.
    case accepted
    /// Talkdesk certainly did not accept it, so the number is no duplicate any more.
    case failed
    /// Talkdesk may have accepted it.
    case unknown
  }

  /// The certain outcome.
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
  /// What a ticket came to; nil for a callback, and where it is not known.
  public let ticket: StoredTicket?
  /// When.
  public let time: Instant
  /// Whether the app has read this outcome in a response, so that no notice tells it.
  public var isTold = false
  /// What the record has taken from allowances and gives back with this outcome.
  public var returned: [KeptReceipt] = []

  /// A settlement.
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
