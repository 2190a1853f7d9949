// The protocol for an authorization server that issues access tokens, such as Talkdesk ID.

public import HTTP
public import Platform

/// An authorization server that issues access tokens to this server's OAuth client (RFC 6749 §4.4).
public protocol TokenIssuer: Sendable {
  /// The state of each of the client's credentials, in the configured order: the next key before the current
  /// one.
  var credentialStatus: [CredentialStatus] { get }

  /// Gets a token. Requesting twice is harmless: an unused token expires.
  ///
  /// - Parameters:
  ///   - scope: The requested scope, as words separated by spaces; empty for all scopes of the client.
  ///   - deadline: The time by which the whole exchange must have ended.
  ///   - trace: The trace of the exchange, if any.
  ///   - observe: Called for every request.
  ///   - change: Called with each credential that is now accepted or refused and was not before.
  func exchange(
    scope: String, deadline: MonotonicTime, trace: TraceContext?,
    observe: @Sendable (TokenRequestReport) -> Void, change: @Sendable (CredentialStatus) -> Void
  ) async throws(TokenExchangeError) -> AccessToken

  /// Tries all credentials again, also those set aside.
  func tryAllAgain()

  /// Copies the states of credentials that the replaced issuer also had.
  func inherit(from other: any TokenIssuer)

  /// Whether a token of the issuer that this one replaces may still be vended.
  func keeps(_ token: AccessToken, of other: any TokenIssuer) -> Bool
}

extension TokenIssuer {
  /// Gets a token, without a report of changes.
  public func exchange(
    scope: String, deadline: MonotonicTime, trace: TraceContext? = nil,
    observe: @Sendable (TokenRequestReport) -> Void = { _ in }
  ) async throws(TokenExchangeError) -> AccessToken {
    try await exchange(scope: scope, deadline: deadline, trace: trace, observe: observe, change: { _ in })
  }
}
