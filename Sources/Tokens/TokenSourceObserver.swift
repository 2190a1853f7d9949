// The protocol through which a token source reports its outcomes for logs and metrics.

/// The outcome of one token request, for metrics.
public enum TokenCacheOutcome: String, CaseIterable, Sendable {
  /// The shared token was there.
  case hit
  /// An exchange was begun for it.
  case miss
  /// It waits for an exchange that another request began.
  case joined
  /// A token was renewed early; no request waits for it.
  case renewal
  /// Refused because Talkdesk ID is being left alone after a failure.
  case coolingDown = "cooling_down"
  /// Refused because more tokens, each an exchange of its own, are requested than can be had in time.
  case overloaded
  /// The API refused the shared token, so it was given up.
  case invalidated
}

/// Observes a token source. It is called from any thread, event loops included, so it must return at once. It
/// is never called with a lock held.
public protocol TokenSourceObserver: AnyObject, Sendable {
  /// A token request ended, or began an exchange.
  /// - Parameter lane: the loop of the request, if known, so that each loop counts for itself.
  func tokenCache(_ outcome: TokenCacheOutcome, scope: String, lane: Int?)
  /// A request to Talkdesk ID is over.
  func tokenRequest(_ report: TokenRequestReport)
  /// Talkdesk ID accepts or refuses a credential, and did not before.
  func credentialChanged(_ status: CredentialStatus)
}

extension TokenSourceObserver {
  public func credentialChanged(_ status: CredentialStatus) {}
}
