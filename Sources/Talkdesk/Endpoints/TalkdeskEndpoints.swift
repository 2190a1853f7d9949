// Derives the URLs of Talkdesk ID and of the API from account and region.

/// The URLs of Talkdesk ID and of the API for one account: derived from account and region, or configured.
/// The configuration checks configured URLs, and the transport sends nothing unencrypted to another machine.
public struct TalkdeskEndpoints: Hashable, Sendable {
  /// The token endpoint's full URL.
  public let tokenURL: String
  /// The audience of assertions: one string, equal to the token URL unless configured otherwise.
  public let audience: String
  /// The base URL of the API, without a slash at the end. Paths such as `/calls/callback` are appended to it.
  public let apiBase: String

  /// Makes endpoints from configured URLs. Without `apiBase`, the region determines the API's base URL.
  public init(tokenURL: String, region: Region = .us, audience: String? = nil, apiBase: String? = nil) {
    self.tokenURL = tokenURL
    self.audience = audience ?? tokenURL
    self.apiBase = apiBase ?? region.apiBase
  }

  /// Makes endpoints of an account.
  ///
  /// - Parameter account: the first label of the account's Talkdesk address.
  public init(account: String, region: Region = .us, audience: String? = nil, apiBase: String? = nil) {
    self.init(
      tokenURL: "https://\(account).\(region.idDomain)/oauth/token", region: region, audience: audience,
      apiBase: apiBase)
  }
}
