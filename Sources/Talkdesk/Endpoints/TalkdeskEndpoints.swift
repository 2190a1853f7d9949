// Derives the URLs of Talkdesk ID and of the API from account and region.

/// Where a Talkdesk account's tokens and API are: from account and region, or as stated. The configuration checks what is
/// stated, and the transport sends nothing in the clear to another machine.
public struct TalkdeskEndpoints: Hashable, Sendable {
  /// The token endpoint's full URL.
  public let tokenURL: String
  /// What an assertion names as its audience: one string, equal to the token URL unless stated otherwise.
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
