// The record of a callback, as its caller may see it.

public import Gate
public import Texts

/// The record of a callback. It holds a masked number. The full number is in the sealed content of an appointment only.
public struct StoredCallback: Hashable, Sendable {
  /// Its state; docs/build/callbacks.md has the states and their changes.
  public enum Status: String, Sendable, CaseIterable {
    /// An appointment that waits for its time.
    case scheduled
    /// Saved. The request to Talkdesk may have started.
    case pending
    /// Talkdesk took it.
    case accepted
    /// Certainly not taken.
    case failed
    /// The call may have been requested, and no one can tell.
    case unknown
    /// An appointment that its owner does not want any more.
    case cancelled
    /// An appointment whose time passed before it could be tried.
    case expired

    /// Whether it changes by itself no more.
    public var isFinal: Bool { self != .scheduled && self != .pending }
  }

  /// Its name.
  public let id: CallbackID
  /// Its owner. Other callers cannot read it.
  @Exact public private(set) var callerID: String
  /// The person the caller spoke for, if the credential named one.
  @Exact public private(set) var subject: String?
  /// The app, if there was one.
  @Exact public private(set) var appID: String?
  /// The number to be called, masked: `+*********65`. Empty for a ticket.
  public let contact: String
  /// When the intent was kept.
  public let createdAt: Instant
  /// The time of an appointment; nil for an immediate callback.
  public internal(set) var at: Instant?
  /// When it left `pending`.
  public internal(set) var settledAt: Instant?
  /// Its state.
  public internal(set) var status: Status
  /// Why it is not `accepted`: a problem's code.
  public internal(set) var code: String?
  /// The status of Talkdesk's reply, if one came.
  public internal(set) var upstreamStatus: Int?
  /// Talkdesk's `platform-tid`, if the reply had one.
  public internal(set) var platformTID: String?
  /// The names of the fields that Talkdesk refused. Filled only when the record is read by its key.
  public internal(set) var refusedFields: [String] = []
  /// Its verification code; nil where it carried none, and where a purge has removed it.
  public internal(set) var verificationCode: SealedCode?
  /// Its notices; nil where no installation gets any.
  public internal(set) var notices: CallbackNotices?
  /// How often the customer has snoozed it, with or without a device for notices.
  public internal(set) var snoozes: Int
  /// Who made it.
  public internal(set) var origin: CallbackOrigin
  /// What came of a ticket; nil for a callback.
  public internal(set) var ticket: StoredTicket?
  /// Its name in another interface; nil where it was made by this server's own.
  public let alias: CallbackAlias?
  /// The digest of the AI agent's conversation in which it was requested; nil for all other clients.
  package let conversation: StoreID?
  /// The customer's consent; nil without one.
  public internal(set) var consent: StoredConsent?
  /// What became of its call; nil as long as Talkdesk has not told it.
  public internal(set) var outcome: CallOutcome?
  /// Whether it had been recovered as `unknown` before its process settled it. Only what `settle` returns says so.
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

  /// Whether recovery made it `unknown`, as far as the record tells: there is no upstream status.
  var isRecovered: Bool {
    status == .unknown && code == CallbackRecovery.code && upstreamStatus == nil && platformTID == nil
  }
}

extension StoredCallback {
  /// Whether it is a subject's of its caller: users of one issuer do not see each other's.
  public func belongs(to subject: String) -> Bool { (self.subject ?? callerID).hasSameBytes(as: subject) }

  /// Whether a caller has asked for it.
  package func isOwned(by callerID: String) -> Bool { self.callerID.hasSameBytes(as: callerID) }
}
