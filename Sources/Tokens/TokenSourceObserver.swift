// The protocol through which a token source reports its outcomes for logs and metrics.

/// The outcome of one token request, for metrics.
public enum TokenCacheOutcome: String, CaseIterable, Sendable {
  /// A token was in the cache: the shared one, or at Sendbird the user's.
  case hit
  /// The request started an exchange, or waits for one that is not shared.
  case miss
  /// The request waits for an exchange that was already running.
  case joined
  /// A renewal started. The request that caused it, if any, does not wait for it.
  case renewal
  /// The request was refused during a cool-down, without a request to Talkdesk ID or Sendbird. Also if
  /// Sendbird has just refused the user.
  case coolingDown = "cooling_down"
  /// The request was refused because tokens are not shared, and more are requested than can be obtained in
  /// time.
  case overloaded
  /// The API refused the shared token, so it was dropped.
  case invalidated
}

/// An observer of a token source. It is called from any thread, event loops included, so it must return at
/// once. It is never called with a lock held.
public protocol TokenSourceObserver: AnyObject, Sendable {
  /// Called for each outcome of a token request or a renewal, and for a token that was dropped.
  /// - Parameter lane: the event loop of the request, if known, so that each loop counts separately.
  func tokenCache(_ outcome: TokenCacheOutcome, scope: String, lane: Int?)
  /// A request to Talkdesk ID has ended.
  func tokenRequest(_ report: TokenRequestReport)
  /// Talkdesk ID now accepts or refuses a credential and did not before.
  func credentialChanged(_ status: CredentialStatus)
}

extension TokenSourceObserver {
  public func credentialChanged(_ status: CredentialStatus) {}
}
