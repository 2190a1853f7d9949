// The data of a callback that a caller requests, before the store has a record of it.

public import Gate
public import Texts

/// A callback that a caller requests: the content of its first record, and the data by which a repeated
/// request is recognized.
///
/// A store saves keyed hashes of number, key and fingerprint, and the masked number. It saves the number
/// itself only in the sealed content of an appointment, and never saves the key and the fingerprint
/// themselves.
public struct CallbackIntent: Sendable {
  /// An `Idempotency-Key`, or the key of an AI agent's request, and the request that it was used for.
  public struct Key: Hashable, Sendable {
    /// The client's text, without quotation marks. For an agent, a text made from conversation, number and
    /// time.
    public let text: String
    /// The SHA-256 of the request, which distinguishes it from another request with the same key; empty for
    /// an agent.
    public let fingerprint: [UInt8]

    public init(text: String, fingerprint: [UInt8]) {
      self.text = text
      self.fingerprint = fingerprint
    }
  }

  /// The thing that is requested: a call or a ticket.
  public enum Matter: Hashable, Sendable {
    /// A call to a number.
    case call(E164)
    /// A ticket of a chat desk, with the SHA-256 of its content.
    case ticket([UInt8])
  }

  /// How long the rows of a callback are kept. The dedupe window begins with the request. The other times
  /// begin with the creation of an immediate callback, or with the end of an appointment.
  public struct Terms: Hashable, Sendable {
    /// How long an equal request of the same owner is a duplicate (`CallbackNames.place`); zero if none is.
    public let dedupeWindow: Duration
    /// How long the store remembers the key. It does so for longer while the callback may still be pending.
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

  public let id: CallbackID
  /// The caller that makes the request.
  @Exact public private(set) var callerID: String
  /// The person for whom the caller acts, if the credential names one.
  @Exact public private(set) var subject: String?
  /// The app, if there is one.
  @Exact public private(set) var appID: String?
  public let matter: Matter
  /// The key that the client gave or that was made for an agent's request; nil without one.
  public let key: Key?
  public let terms: Terms
  /// The latest time of its settlement if nothing fails. A record that is still pending
  /// `CallbackRecovery.grace` after this becomes `unknown`.
  public var deadline: Instant
  /// The verification code, sealed with a store key and with the bytes of `id` as associated data; nil
  /// without a code.
  public var sealedCode: [UInt8]?
  /// The allowances that the record takes in the transaction that saves it; nil for none.
  public var charges: RecordCharges?
  /// The installation that requests the callback; nil if the caller is not an installation.
  public var installation: InstallationIdentity?
  /// The installation that gets notifications of the callback, or the stand-in for `device`. Nil if the
  /// server sends no notifications, if the request named a device that cannot be used, or if it named none
  /// and the caller is not an installation.
  public var notifies: InstallationIdentity?
  /// The device that the request named, which gets the notifications in place of an installation's device;
  /// nil without one.
  public private(set) var device: GivenDevice?
  /// The callback's name in another API; nil if it is requested with this server's own API.
  public var alias: CallbackAlias?
  /// The customer's consent; nil without one.
  public var consent: StoredConsent?
  /// The subject and the number. Nil if no rule `own_number` applies, if the caller has no subject, or if the
  /// server does not remember proven numbers.
  public var ownership: ProvenNumber?
  /// How long to remember that number once the record that used its proof is saved. Nil without a proof, or
  /// if the server does not remember proven numbers.
  public var remembersFor: Duration?
  /// The account's number from which Talkdesk calls; nil for a ticket, and for the move of an appointment.
  public var talkdeskNumber: E164?
  /// The id under which a verdict on the number would be saved. Nil if no rule needs it.
  package var screening: StoreID?
  /// The AI agent's conversation in which the callback is requested; nil for all other clients.
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
  /// Sends the notifications to a device, in place of an installation's device.
  package mutating func notify(_ device: GivenDevice) {
    self.device = device
    notifies = .device(of: id)
  }

  /// The number to be called. A ticket has none.
  public var contact: E164 {
    guard case .call(let number) = matter else { preconditionFailure("the number of a ticket") }
    return number
  }

  var isTicket: Bool { if case .ticket = matter { true } else { false } }

  /// The masked number, as saved in the record; empty for a ticket.
  package var maskedContact: String { if case .call(let number) = matter { number.masked } else { "" } }

  /// The owner as one text: the caller, and its user if it has one. So a number that one user has requested
  /// is not a duplicate for another user.
  package var owner: String {
    guard let subject, !subject.hasSameBytes(as: callerID) else { return callerID }
    return callerID + "\u{0}" + subject
  }
}
