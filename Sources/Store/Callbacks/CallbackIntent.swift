// A callback that a caller wants to make, before the store has a record of it.

public import Gate
public import Texts

/// A callback that a caller requests: the start of its record, and the data that identify a repetition.
///
/// A store keeps keyed hashes of number, key and fingerprint, and the masked number, but not these
/// themselves.
public struct CallbackIntent: Sendable {
  /// An `Idempotency-Key` and the request that it stands for.
  public struct Key: Hashable, Sendable {
    /// The client's text, without quotation marks.
    public let text: String
    /// The SHA-256 of the request, which tells it from another one with the same key.
    public let fingerprint: [UInt8]

    /// A key.
    public init(text: String, fingerprint: [UInt8]) {
      self.text = text
      self.fingerprint = fingerprint
    }
  }

  /// What a record is of.
  public enum Matter: Hashable, Sendable {
    /// A call to a number.
    case call(E164)
    /// A ticket of a chat desk, with the SHA-256 of its content.
    case ticket([UInt8])
  }

  /// The retention times of a callback's rows, from its creation on.
  public struct Terms: Hashable, Sendable {
    /// How long the same number of the same caller is a duplicate; zero for never.
    public let dedupeWindow: Duration
    /// How long a key is known. It is known for longer while its callback may still be pending.
    public let keyRetention: Duration
    /// How long the record can be asked for; at least as long as the others need it.
    public let retention: Duration

    /// Terms. They are kept with the callback: a change of the configuration is for later ones.
    public init(dedupeWindow: Duration, keyRetention: Duration, retention: Duration) {
      self.dedupeWindow = dedupeWindow
      self.keyRetention = keyRetention
      self.retention = retention
    }
  }

  /// The name of the record to be.
  public let id: CallbackID
  /// Who asks.
  @Exact public private(set) var callerID: String
  /// The person the caller speaks for, if the credential names one.
  @Exact public private(set) var subject: String?
  /// The app, if there is one.
  @Exact public private(set) var appID: String?
  /// What is requested.
  public let matter: Matter
  /// The key the client gave, if any.
  public let key: Key?
  /// The retention times.
  public let terms: Terms
  /// When it is settled at the latest, as long as all is well. One that is still pending a grace after this becomes
  /// `unknown`.
  public var deadline: Instant
  /// Its verification code, sealed with a store key, with the bytes of `id` associated; nil where it carries none.
  public var sealedCode: [UInt8]?
  /// What the record takes from allowances, in the transaction that saves it; nil for nothing.
  public var charges: RecordCharges?
  /// The installation that makes it; nil where its caller is none.
  public var installation: InstallationIdentity?
  /// The installation that gets notices of it; nil where its caller is none, or the server sends none.
  public var notifies: InstallationIdentity?
  /// The device that gets notices of it in place of an installation's.
  public private(set) var device: GivenDevice?
  /// Its name in another interface; nil where it was made by this server's own.
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

  /// An intent.
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
  /// Has a device get the notices, in place of an installation's.
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

  /// The number as its record has it; empty for a ticket.
  package var maskedContact: String { if case .call(let number) = matter { number.masked } else { "" } }

  /// The owner as one text: the caller, and its user where it has such. A number that one user has asked for is no duplicate for
  /// another one.
  package var owner: String {
    guard let subject, !subject.hasSameBytes(as: callerID) else { return callerID }
    return callerID + "\u{0}" + subject
  }
}
