// Classifies a failed request to Sendbird: which users it affects, and why it failed.

import HTTP
import JSON
package import Tokens

/// The reason why Sendbird did not do what the server requested.
package struct SendbirdFailure: Error, Sendable {
  /// The users whom a failure affects.
  package enum Concern: Sendable {
    /// Every user: the application, the credential or Sendbird itself fails.
    case everyUser
    /// Only this user, or only this request.
    case thisUser
    /// Only this user, until two other users meet the same failure. A proxy may block the text of one user's
    /// request, or something else may answer in place of Sendbird's API.
    case perhapsEveryUser
    /// Only this user, because Sendbird does not know the user.
    case unknownUser
    /// Only this user, because Sendbird already has the user.
    case knownUser
  }

  /// The cause, in the same terms for every token provider.
  package let cause: TokenExchangeError
  /// The users whom the failure affects.
  package let concern: Concern

  init(_ cause: TokenExchangeError, concern: Concern = .everyUser) {
    self.cause = cause
    self.concern = concern
  }

  /// Classifies an error by its code, which Sendbird mostly sends with status 400, or by its status if the
  /// code is unknown.
  ///
  /// - Parameters:
  ///   - wait: The wait in `Retry-After`; nil if there is none.
  ///   - isDesk: Whether the desk's API sent the error. Its errors may lack a code.
  ///   - hasText: Whether the request contained text of the user, which a firewall may block.
  init(
    status: Int, content: [UInt8], retryAfter wait: Duration?, isDesk: Bool = false, hasText: Bool = false
  ) {
    let code = Self.code(content)
    let text = code.map { String($0) }
    let refused = TokenExchangeError.refused(status: status, code: text)
    switch (code, status) {
    // Unauthorized, invalid Api-Token, application not available.
    case (400_108, _), (400_401, _), (403_100, _): self.init(refused)
    case (400_201, _), (400_301, _): self.init(refused, concern: .unknownUser)
    case (400_202, _): self.init(refused, concern: .knownUser)
    case (500_910, _): self.init(.rateLimited(retryAfter: wait))
    case (let code?, _) where (500_000...500_999).contains(code):
      self.init(.failed(status: status, code: text))
    case (_, 429): self.init(.rateLimited(retryAfter: wait))
    case (_, 408), (_, 500...): self.init(.unavailable(status: status, retryAfter: wait))
    case (_, 401): self.init(refused)
    // A firewall may block one request, such as one with an unusual user ID or text.
    case (nil, 403): self.init(refused, concern: isDesk && !hasText ? .everyUser : .thisUser)
    case (nil, 400): self.init(refused, concern: .thisUser)
    case (nil, 409), (nil, 415), (nil, 422):
      self.init(refused, concern: isDesk ? .thisUser : .perhapsEveryUser)
    case (nil, 400...): self.init(refused, concern: .perhapsEveryUser)
    case (_, 400...): self.init(refused, concern: .thisUser)
    default: self.init(.unusableReply(.status(status)), concern: .perhapsEveryUser)
    }
  }

  /// The `code` of an error; nil if there is none.
  private static func code(_ content: [UInt8]) -> Int64? {
    do {
      // Any number: the code is only compared.
      return try JSONValue(parsing: content).object?["code"]?.int
    } catch {
      // Not JSON. The position of the error helps no operator.
      return nil
    }
  }
}
