// The facts about a request that rules may read.

public import Platform
public import Texts

/// The action that an app requests. Rules, tests, stops, audit lines and metrics use these names.
public enum Action: String, CaseIterable, Sendable {
  /// A token: an access token of Talkdesk or a session token of a chat desk.
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
  /// The caller's id: the id of a configured caller, `installation`, or `anonymous`. Nil also means an
  /// anonymous caller.
  public var callerID: String?
  /// The subject of the caller's token or of the installation. Other callers have their own id or nil.
  public var subject: String?
  /// The installation that sent the request; nil if none did.
  public var installation: InstallationFacts?
  /// The app that the request is for; nil if there is none.
  public var appID: String?
  /// The client's address; nil if it is unknown.
  public var address: IPAddress?
  /// The number to call; nil for actions without a call. For a callback, `explain` and rule tests may omit
  /// it.
  public var phone: E164?
  /// The claims of the caller's token. For an installation, its app's description of it, which is not
  /// verified; a request for an installation may have both.
  public var claims: [FactMember]
  /// The request's fields that rules read (`Policy.fieldNames`). A repeated field appears as often as in the
  /// request.
  public var fields: [RequestField]
  /// The time of the request.
  public var instant: Instant
  /// The time of an appointment, at which opening hours must be open; nil if they must be open at `instant`.
  public var at: Instant?
  /// The number of agents available now; nil if it is unknown or no rule needs it (`Policy.asksAgents`).
  public var agents: Int64?
  /// The evidence about the number of a new callback. Nil if the number was already checked or the request
  /// has none; the rules `own_number`, `consent` and `screened` then refuse nothing.
  public var number: NumberEvidence?

  /// Collects the facts. No parameter has a default, so that the compiler names every place that must supply
  /// a new fact.
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

  /// The facts of a request of which only action and time are known.
  public static func unknown(_ action: Action, at instant: Instant) -> Facts {
    Facts(
      action: action, callerID: nil, subject: nil, installation: nil, appID: nil, address: nil, phone: nil,
      claims: [], fields: [], instant: instant, at: nil, agents: nil, number: nil)
  }

  /// The id and subject of an anonymous caller.
  public static let anonymous = "anonymous"
  /// The caller id that all installations share.
  public static let installationCaller = "installation"

  /// The time at which opening hours must be open.
  var opening: Instant { at ?? instant }

  /// The caller's id; `anonymous` if there is none.
  public var effectiveCaller: String { callerID ?? Self.anonymous }

  /// The caller that the subject belongs to. For an installation authorized by a user, this is the caller of
  /// that user's token.
  public var owner: String { installation?.callerID ?? effectiveCaller }

  /// Whether the subject is the owner itself, because there is no user.
  var isOwnerItself: Bool { effectiveSubject.hasSameBytes(as: owner) }

  /// The subject, or the caller's id if there is no subject.
  public var effectiveSubject: String { subject ?? effectiveCaller }
}

extension Facts {
  /// The facts that the server sends to a remote policy. Unknown facts are left out. So are the time of an
  /// appointment, the number of agents and the evidence about the number.
  public var document: FactValue {
    var members = [
      FactMember("action", .string(action.rawValue)), FactMember("caller", .string(effectiveCaller)),
      FactMember("subject", .string(effectiveSubject)),
    ]
    if let installation {
      members.append(FactMember("installation", .string(installation.id)))
      // Owner and subject together identify the user: two issuers may give two users the same subject.
      if let owner = installation.callerID { members.append(FactMember("owner", .string(owner))) }
    }
    if let appID { members.append(FactMember("app", .string(appID))) }
    if let address { members.append(FactMember("address", .string(address.description))) }
    if let phone { members.append(FactMember("phone", .string(phone.text))) }
    members.append(FactMember("claims", .object(claims)))
    var named: [FactMember] = []
    for field in fields {
      // A repeated field becomes a list, so that the policy can tell.
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
  public let id: String
  /// The caller of the user's token that authorized the installation; nil if no user authorized it.
  @Exact public private(set) var callerID: String?

  public init(id: String, callerID: String?) {
    self.id = id
    self.callerID = callerID
  }
}
