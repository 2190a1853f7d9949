// The facts about a request that the rules may look at.

public import Platform
public import Texts

/// The action that an app requests. Rules, tests, stops, audit lines and metrics use these names.
public enum Action: String, CaseIterable, Sendable {
  /// An access token.
  case access
  /// A callback.
  case callback
  /// A ticket of a chat desk.
  case ticket
  /// A credential for an installation.
  case enrol

  /// The actions of a rule without `on`: all but `enrol`, which a rule must name.
  public static let usual = Set(allCases).subtracting([.enrol])

  /// The action's number, from 0, in the order of `allCases`.
  public var number: Int {
    switch self {
    case .access: 0
    case .callback: 1
    case .ticket: 2
    case .enrol: 3
    }
  }
}

/// The facts of a request: everything that the rules may read, the time included.
public struct Facts: Sendable {
  /// The requested action.
  public var action: Action
  /// The authenticated caller's id; nil for an anonymous one.
  public var callerID: String?
  /// The subject of the caller's token, where there is one.
  public var subject: String?
  /// The installation that asks, where one does.
  public var installation: InstallationFacts?
  /// The app the request is for, where there is one.
  public var appID: String?
  /// The client's address; nil where it is unknown.
  public var address: IPAddress?
  /// The number to be called; nil for access. Only `explain` may leave it out of a callback.
  public var phone: E164?
  /// The claims of the caller's token.
  public var claims: [FactMember]
  /// The request's fields that rules read (`Policy.fieldNames`), each as often as the request has it.
  public var fields: [RequestField]
  /// When the request came.
  public var instant: Instant
  /// The time of an appointment, at which it has to be open; nil where it has to be open at `instant`.
  public var at: Instant?
  /// How many agents are available now; nil where it is not known, and where no rule asks (`Policy.asksAgents`).
  public var agents: Int64?
  /// The evidence about the number of a new callback. Nil when the number was already checked.
  public var number: NumberEvidence?

  /// Collects the facts. None has a default, so that the compiler names every place that must fill a new one.
  public init(
    action: Action, callerID: String?, subject: String?, installation: InstallationFacts?, appID: String?,
    address: IPAddress?, phone: E164?, claims: [FactMember], fields: [RequestField], instant: Instant,
    at: Instant?, agents: Int64?, number: NumberEvidence?
  ) {
    self.number = number
    self.installation = installation
    self.agents = agents
    self.action = action
    self.callerID = callerID
    self.subject = subject
    self.appID = appID
    self.address = address
    self.phone = phone
    self.claims = claims
    self.fields = fields
    self.instant = instant
    self.at = at
  }

  /// The facts of a request of which nothing is known but its action and time.
  public static func unknown(_ action: Action, at instant: Instant) -> Facts {
    Facts(
      action: action, callerID: nil, subject: nil, installation: nil, appID: nil, address: nil, phone: nil,
      claims: [], fields: [], instant: instant, at: nil, agents: nil, number: nil)
  }

  /// The id and subject of callers without a name.
  public static let anonymous = "anonymous"
  /// The caller's id of every installation.
  public static let installationCaller = "installation"

  /// The time at which opening hours are judged.
  var opening: Instant { at ?? instant }

  /// The caller's id, `anonymous` without one.
  public var effectiveCaller: String { callerID ?? Self.anonymous }

  /// The caller to whom the subject belongs: of an installation that a user authorized, the caller of that user's token.
  public var owner: String { installation?.callerID ?? effectiveCaller }

  /// Whether the subject is the owner's own name: there is no user.
  var isOwnerItself: Bool { effectiveSubject.hasSameBytes(as: owner) }

  /// Who is behind the request: the token's subject, else the caller.
  public var effectiveSubject: String { subject ?? effectiveCaller }
}

extension Facts {
  /// The facts as a remote policy reads them, without the unknown ones.
  public var document: FactValue {
    var members = [
      FactMember("action", .string(action.rawValue)), FactMember("caller", .string(effectiveCaller)),
      FactMember("subject", .string(effectiveSubject)),
    ]
    if let installation {
      members.append(FactMember("installation", .string(installation.id)))
      // With the subject, it names the user: two issuers may give two users the same subject.
      if let owner = installation.callerID { members.append(FactMember("owner", .string(owner))) }
    }
    if let appID { members.append(FactMember("app", .string(appID))) }
    if let address { members.append(FactMember("address", .string(address.description))) }
    if let phone { members.append(FactMember("phone", .string(phone.text))) }
    members.append(FactMember("claims", .object(claims)))
    var named: [FactMember] = []
    for field in fields {
      // A field that stands there twice is a list, so that a policy can tell.
      if let position = named.firstIndex(where: { $0.name == field.name }) {
        if case .array(let values) = named[position].value {
          named[position].value = .array(values + [.string(field.value)])
        } else {
          named[position].value = .array([named[position].value, .string(field.value)])
        }
      } else {
        named.append(FactMember(field.name, .string(field.value)))
      }
    }
    members.append(FactMember("fields", .object(named)))
    members.append(FactMember("time", .string(instant.rfc3339)))
    return .object(members)
  }
}

/// The values by which rules count an installation.
public struct InstallationFacts: Hashable, Sendable {
  /// Its id.
  public let id: String
  /// The caller of the user's token who authorized it; nil where an operator did.
  @Exact public private(set) var callerID: String?

  /// Names an installation.
  public init(id: String, callerID: String?) {
    self.id = id
    self.callerID = callerID
  }
}
