// Derives the URLs of Talkdesk ID and of the API from account and region.

/// The URLs of a Talkdesk account's tokens and API: from account and region, or as configured. The configuration checks configured
/// URLs, and the transport sends nothing in the clear to another machine.
public struct TalkdeskEndpoints: Hashable, Sendable {
  /// The token endpoint's full URL.
  public let tokenURL: String
  /// The audience of assertions: one string, equal to the token URL unless configured otherwise.
  public let audience: String
  /// The base of the API, without a slash at the end; a path such as `/calls/callback` is appended.
  public let apiBase: String

  /// Makes endpoints from stated URLs; the region gives the API's base where it is not stated.
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
