// The facts about a request that the rules may look at.

public import Platform

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

  /// The actions that this version serves: a stop of `all` stops these. A version that serves more changes the store's schema, so
  /// that no earlier one reads a stop that it does not know.
  public static let served: [Action] = [.access, .callback]

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

  /// Collects the facts.
  public init(
    action: Action, callerID: String?, subject: String? = nil, appID: String? = nil, address: IPAddress?,
    phone: E164?, claims: [FactMember] = [], fields: [RequestField] = [], instant: Instant
  ) {
    self.action = action
    self.callerID = callerID
    self.subject = subject
    self.appID = appID
    self.address = address
    self.phone = phone
    self.claims = claims
    self.fields = fields
    self.instant = instant
  }

  /// The id and subject of callers without a name.
  public static let anonymous = "anonymous"

  /// The caller's id, `anonymous` without one.
  public var effectiveCaller: String { callerID ?? Self.anonymous }

  /// Who is behind the request: the token's subject, else the caller.
  public var effectiveSubject: String { subject ?? effectiveCaller }
}
