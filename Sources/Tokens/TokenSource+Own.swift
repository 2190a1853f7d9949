// Vends tokens for the server's own requests. Their scopes are separate, so none of these tokens can request
// a call.

public import Platform

/// The scopes of tokens that never leave the server. Each scope has its own token, and none of them can be
/// configured for clients.
public enum OwnScope: String, CaseIterable, Sendable {
  case phoneValidation = "identity-phone-validation:read"
  case doNotCall = "do-not-call-lists:manage"

  /// The own scope that is one of the words of a configured scope; nil if none is.
  public init?(in scope: String) {
    let words = scope.utf8.split(separator: UInt8(ascii: " "))
    func isNamed(_ own: OwnScope) -> Bool { words.contains { $0.elementsEqual(own.rawValue.utf8) } }
    guard let first = Self.allCases.first(where: isNamed) else { return nil }
    self = first
  }
}

extension TokenSource {
  /// The shared token with one of the server's own scopes. Credential failures of this scope pause no other
  /// scope.
  ///
  /// - Parameter deadline: when this request gives up.
  public func token(forServer scope: OwnScope, deadline: MonotonicTime) async throws(TokenError)
    -> AccessToken
  {
    try await token(scopeID(scope.rawValue), deadline: deadline)
  }

  /// Drops a token that the API answered with 401.
  ///
  /// - Returns: whether another request makes sense.
  public func invalidate(_ token: AccessToken, forServer scope: OwnScope) -> Bool {
    invalidate(token, scope: scopeID(scope.rawValue))
  }
}
