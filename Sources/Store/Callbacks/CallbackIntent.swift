// A callback that a caller wants to make, before the store has a record of it.

public import Gate
public import Texts

/// A callback that a caller requests: the start of its record, and the data that identify a repetition.
///
/// A store saves keyed hashes of number, key and fingerprint, and the masked number. It never saves the
/// values themselves.
public struct CallbackIntent: Sendable {
  /// An `Idempotency-Key` and the request that it stands for.
  public struct Key: Hashable, Sendable {
    /// The client's text, without quotation marks.
    public let text: String
    /// The SHA-256 of the request, which distinguishes it from another request with the same key.
    public let fingerprint: [UInt8]

    public init(text: String, fingerprint: [UInt8]) {
      self.text = text
      self.fingerprint = fingerprint
    }
  }

  /// What a callback record is about.
  public enum Matter: Hashable, Sendable {
    /// A call to a number.
    case call(E164)
    /// A ticket of a chat desk, with the SHA-256 of its content.
    case ticket([UInt8])
  }

  /// The retention times of a callback's rows, from its creation on.
  public struct Terms: Hashable, Sendable {
    /// How long another callback of the same owner to the same number is a duplicate; zero for never.
    public let dedupeWindow: Duration
    /// How long a key is known. It is known for longer while its callback may still be pending.
    public let keyRetention: Duration
    /// How long the record can be read. It lasts longer if its key or its dedupe entry does.
    public let retention: Duration

    /// Terms that are saved with the callback: a change of the configuration affects only later callbacks.
    public init(dedupeWindow: Duration, keyRetention: Duration, retention: Duration) {
      self.dedupeWindow = dedupeWindow
      self.keyRetention = keyRetention
      self.retention = retention
    }
  }

  /// The id of the record.
  public let id: CallbackID
  /// The caller that makes the request.
  @Exact public private(set) var callerID: String
  /// The person the caller speaks for, if the credential names one.
  @Exact public private(set) var subject: String?
  /// The app, if there is one.
  @Exact public private(set) var appID: String?
  public let matter: Matter
  /// The key the client gave, if any.
  public let key: Key?
  public let terms: Terms
  /// The latest time of its settlement if nothing fails. A record that is still pending
  /// `CallbackRecovery.grace` after this becomes `unknown`.
  public var deadline: Instant
  /// Its verification code, sealed with a store key and with the bytes of `id` as associated data; nil
  /// without a code.
  public var sealedCode: [UInt8]?
  /// The allowances that the record takes in the transaction that saves it; nil for none.
  public var charges: RecordCharges?
  /// The installation that makes the callback; nil if the caller is not an installation.
  public var installation: InstallationIdentity?
  /// The installation that gets notices of the callback; nil if the caller is not an installation, or the
  /// server sends no notices.
  public var notifies: InstallationIdentity?
  /// The device that gets notices of it in place of an installation's.
  public private(set) var device: GivenDevice?
  /// Its name in another API; nil if it is made with this server's own API.
  public var alias: CallbackAlias?
  /// The customer's consent; nil without one.
  public var consent: StoredConsent?
  /// The subject and the number. Nil if no rule `own_number` applies, or if the caller has no subject.
  public var ownership: ProvenNumber?
  /// How long to remember that number after saving the record, which uses its proof. Nil without a proof.
  public var remembersFor: Duration?
  /// The account's number that calls; nil for a ticket.
  public var talkdeskNumber: E164?
  /// The id of the saved verdict on the number. Nil if no rule needs it.
  package var screening: StoreID?
  /// The conversation of an AI agent that requests it; nil for all other clients.
  public var conversation: AgentConversation?

  /// An intent of a call.
  public init(
    id: CallbackID, callerID: String, subject: String?, appID: String?, contact: E164, key: Key?,
    terms: Terms, deadline: Instant
  ) {
    self.init(
      id: id, callerID: callerID, subject: subject, appID: appID, matter: .call(contact), key: key,
      terms: terms, deadline: deadline)
  }

  /// An intent of a call or of a ticket.
  public init(
    id: CallbackID, callerID: String, subject: String?, appID: String?, matter: Matter, key: Key?,
    terms: Terms, deadline: Instant
  ) {
    self.id = id
    self.callerID = callerID
    self.subject = subject
    self.appID = appID
    self.matter = matter
    self.key = key
    self.terms = terms
    self.deadline = deadline
  }
}

extension CallbackIntent {
  /// Sends the notices to a device, in place of an installation's device.
  package mutating func notify(_ device: GivenDevice) {
    self.device = device
    notifies = .device(of: id)
  }

  /// The number to be called. Not for tickets.
  public var contact: E164 {
    guard case .call(let number) = matter else { preconditionFailure("the number of a ticket") }
    return number
  }

  var isTicket: Bool { if case .ticket = matter { true } else { false } }

  /// The masked number, as the record has it; empty for a ticket.
  package var maskedContact: String { if case .call(let number) = matter { number.masked } else { "" } }

  /// The owner as one text: the caller, and its user if it has one. So a number that one user has requested
  /// is not a duplicate for another user.
  package var owner: String {
    guard let subject, !subject.hasSameBytes(as: callerID) else { return callerID }
    return callerID + "\u{0}" + subject
  }
}
