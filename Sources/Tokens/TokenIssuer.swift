// The protocol for an authorization server that issues access tokens, such as Talkdesk ID.

public import HTTP
public import Platform

/// An authorization server that gives this server's client access tokens (RFC 6749 §4.4).
public protocol TokenIssuer: Sendable {
  /// What is known of each of the client's credentials, in the order in which they are tried.
  var credentialStatus: [CredentialStatus] { get }

  /// Gets a token. Asking twice is harmless: an unused token expires.
  ///
  /// - Parameters:
  ///   - scope: Exactly what is asked for, words separated by spaces; empty asks for whatever the client has.
  ///   - deadline: When all of it must be over.
  ///   - trace: The trace it belongs to, if any.
  ///   - observe: Is told of every single request.
  ///   - change: Is told of a credential that is accepted or refused now, and was not before.
  func exchange(
    scope: String, deadline: MonotonicTime, trace: TraceContext?,
    observe: @Sendable (TokenRequestReport) -> Void, change: @Sendable (CredentialStatus) -> Void
  ) async throws(TokenExchangeError) -> AccessToken

  /// Leaves no credential aside any more.
  func tryAllAgain()

  /// Takes over what an issuer that this one replaces knew of the same credentials.
  func inherit(from other: any TokenIssuer)

  /// Whether a token that an issuer gave that this one replaces may still be vended.
  func keeps(_ token: AccessToken, of other: any TokenIssuer) -> Bool
}

extension TokenIssuer {
  /// The same, without a report of requests or changes.
  public func exchange(
    scope: String, deadline: MonotonicTime, trace: TraceContext? = nil,
    observe: @Sendable (TokenRequestReport) -> Void = { _ in }
  ) async throws(TokenExchangeError) -> AccessToken {
    try await exchange(scope: scope, deadline: deadline, trace: trace, observe: observe, change: { _ in })
  }
}
