// The record of a callback: its status, times and outcome, with a masked phone number.

public import Gate
public import Texts

/// The record of a callback, with a masked number. Only the sealed content of an appointment has the full
/// number.
public struct StoredCallback: Hashable, Sendable {
  /// The status of a callback. docs/build/callbacks.md lists the statuses and their changes. The provider is
  /// Talkdesk or, for a ticket, the chat desk.
  public enum Status: String, Sendable, CaseIterable {
    /// An appointment that waits for its time.
    case scheduled
    /// Saved. The request to the provider may have started.
    case pending
    /// The provider accepted the request.
    case accepted
    /// The provider certainly did not accept the request.
    case failed
    /// The provider may have accepted the request. The server cannot tell.
    case unknown
    /// An appointment that its owner canceled or did not confirm, or whose installation was revoked, or was
    /// replaced by one of another owner or app.
    case cancelled
    /// An appointment whose time passed before it could be tried.
    case expired

    /// Whether the status is final: neither `scheduled` nor `pending`.
    public var isFinal: Bool { self != .scheduled && self != .pending }
  }

  public let id: CallbackID
  /// The caller that owns the record. Other callers cannot read it.
  @Exact public private(set) var callerID: String
  /// The person for whom the caller acted, if the credential named one.
  @Exact public private(set) var subject: String?
  /// The app, if there was one.
  @Exact public private(set) var appID: String?
  /// The number to be called, masked: `+*********65`. Empty for a ticket.
  public let contact: String
  /// The time of the request.
  public let createdAt: Instant
  /// The time of an appointment; nil for an immediate callback.
  public internal(set) var at: Instant?
  /// When the status became final.
  public internal(set) var settledAt: Instant?
  public internal(set) var status: Status
  /// Why the callback is not `accepted`: a problem's code.
  public internal(set) var code: String?
  /// The status of Talkdesk's reply, if one came.
  public internal(set) var upstreamStatus: Int?
  /// Talkdesk's `platform-tid`, if the reply had one.
  public internal(set) var platformTID: String?
  /// The names of the fields that Talkdesk refused. Filled only when the record is read by its key.
  public internal(set) var refusedFields: [String] = []
  /// The verification code; nil if the callback had none, or if the code has been removed: after its expiry,
  /// or because no store key could open it.
  public internal(set) var verificationCode: SealedCode?
  /// The notifications of the callback; nil if no device gets any.
  public internal(set) var notices: CallbackNotices?
  /// How often the customer has snoozed it, with or without a device for notifications.
  public internal(set) var snoozes: Int
  /// The installation that requested the callback, if it is known to be one.
  public internal(set) var origin: CallbackOrigin
  /// The ticket at the chat desk; nil for a callback.
  public internal(set) var ticket: StoredTicket?
  /// The callback's name in another API; nil if it was requested with this server's own API.
  public let alias: CallbackAlias?
  /// The digest of the AI agent's conversation in which it was requested; nil for all other clients.
  package let conversation: StoreID?
  /// The customer's consent; nil without one.
  public internal(set) var consent: StoredConsent?
  /// The outcome of its call; nil until Talkdesk reports it.
  public internal(set) var outcome: CallOutcome?
  /// Whether recovery had made the callback `unknown` before its process settled it. Set only in the result
  /// of `settle`.
  public internal(set) var wasRecovered = false

  package init(
    id: CallbackID, callerID: String, subject: String?, appID: String?, contact: String, createdAt: Instant,
    at: Instant?, settledAt: Instant?, status: Status, code: String?, upstreamStatus: Int?,
    platformTID: String?,
    verificationCode: SealedCode?, notices: CallbackNotices?, snoozes: Int = 0, ticket: StoredTicket?,
    origin: CallbackOrigin, alias: CallbackAlias?, outcome: CallOutcome?, consent: StoredConsent? = nil,
    conversation: StoreID? = nil
  ) {
    self.id = id
    self.callerID = callerID
    self.subject = subject
    self.appID = appID
    self.contact = contact
    self.createdAt = createdAt
    self.at = at
    self.settledAt = settledAt
    self.status = status
    self.code = code
    self.upstreamStatus = upstreamStatus
    self.platformTID = platformTID
    self.verificationCode = verificationCode
    self.notices = notices
    self.snoozes = snoozes
    self.ticket = ticket
    self.origin = origin
    self.alias = alias
    self.outcome = outcome
    self.consent = consent
    self.conversation = conversation
  }

  /// Whether recovery may have made the callback `unknown`: the record has no sign of a reply from Talkdesk.
  /// A settlement without a reply looks the same.
  var isRecovered: Bool {
    status == .unknown && code == CallbackRecovery.code && upstreamStatus == nil && platformTID == nil
  }
}

extension StoredCallback {
  /// Whether the record belongs to a subject of its caller: users of one issuer do not see each other's
  /// records.
  public func belongs(to subject: String) -> Bool { (self.subject ?? callerID).hasSameBytes(as: subject) }

  /// Whether this caller requested the callback.
  package func isOwned(by callerID: String) -> Bool { self.callerID.hasSameBytes(as: callerID) }
}
