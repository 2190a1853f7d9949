// The URLs of Talkdesk ID and of Talkdesk's API, derived from account and region or configured.

/// The URLs of Talkdesk ID and of the API for one account: derived from account and region, or configured.
/// The configuration checks configured URLs, and the transport sends nothing unencrypted to another machine.
public struct TalkdeskEndpoints: Hashable, Sendable {
  /// The token endpoint's full URL.
  public let tokenURL: String
  /// The audience of assertions: one string, equal to the token URL unless configured otherwise.
  public let audience: String
  /// The base URL of the API, without a slash at the end. Paths such as `/calls/callback` are appended to it.
  public let apiBase: String

  /// Creates endpoints from configured URLs. Without `apiBase`, the region determines the API's base URL.
  public init(tokenURL: String, region: Region = .us, audience: String? = nil, apiBase: String? = nil) {
    self.tokenURL = tokenURL
    self.audience = audience ?? tokenURL
    self.apiBase = apiBase ?? region.apiBase
  }

  /// Creates endpoints from an account's name and region.
  ///
  /// - Parameter account: the first label of the account's Talkdesk address.
  public init(account: String, region: Region = .us, audience: String? = nil, apiBase: String? = nil) {
    self.init(
      tokenURL: "https://\(account).\(region.idDomain)/oauth/token", region: region, audience: audience,
      apiBase: apiBase)
  }
}
