/// A Talkdesk region. It determines the hosts that issue tokens and that serve the API.
///
/// Sources: Talkdesk's reference pages "cc-jwt" (US, EU, CA) and "refresh-token-basic" (AU); for the API
/// hosts, "how to guarantee your app works in all regions".
public enum Region: String, CaseIterable, Hashable, Sendable {
  /// United States.
  case us
  /// European Union.
  case eu
  /// Canada.
  case ca
  /// Australia. Talkdesk does not document its API host; see `apiHostIsConfirmed`.
  case au

  /// The domain of Talkdesk ID: an account's token host is `{account}.{idDomain}`.
  public var idDomain: String {
    switch self {
    case .us: "talkdeskid.com"
    case .eu: "talkdeskid.eu"
    case .ca: "talkdeskidca.com"
    case .au: "talkdeskid.au"
    }
  }

  /// The base URL of the API, without a slash at the end.
  public var apiBase: String {
    switch self {
    case .us: "https://api.talkdeskapp.com"
    case .eu: "https://api.talkdeskapp.eu"
    case .ca: "https://api.talkdeskappca.com"
    // Derived from the pattern of the other regions. `api.mytalkdesk.au` is in use as well, so an operator in
    // Australia sets `TD_API_URL`.
    case .au: "https://api.talkdeskapp.au"
    }
  }

  /// Whether Talkdesk's own pages name the API host. If false, set `TD_API_URL`.
  public var apiHostIsConfirmed: Bool { self != .au }
}
