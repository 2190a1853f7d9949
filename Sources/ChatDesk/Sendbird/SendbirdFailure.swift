// Decides by its code what an error of Sendbird's platform API means.

import HTTP
import JSON
package import Tokens

/// Why Sendbird did not do what it was asked for.
package struct SendbirdFailure: Error, Sendable {
  /// What a failure says beside its cause.
  package enum Concern: Sendable {
    /// The application, the credential or Sendbird itself: other users would meet the same.
    case everyUser
    /// This user, or this request.
    case thisUser
    /// This user, until two others have met the same: something on the way may dislike the text of one user's request, or may
    /// have taken the place of Sendbird's API.
    case perhapsEveryUser
    /// This user, whom Sendbird does not know.
    case unknownUser
    /// This user, whom Sendbird knows already.
    case knownUser
  }

  /// The cause, in the words that all providers of tokens share.
  package let cause: TokenExchangeError
  /// Whom it concerns.
  package let concern: Concern

  init(_ cause: TokenExchangeError, concern: Concern = .everyUser) {
    self.cause = cause
    self.concern = concern
  }

  /// Reads an error by its code, which Sendbird sends mostly with status 400, and by its status where the code is not known.
  ///
  /// - Parameters:
  ///   - wait: What `Retry-After` asks for.
  ///   - isDesk: Whether the desk's API answers, whose errors need not have a code.
  ///   - hasText: Whether the request had text of its user, which a firewall on the way may dislike.
  init(
    status: Int, content: [UInt8], retryAfter wait: Duration?, isDesk: Bool = false, hasText: Bool = false
  ) {
    let code = Self.code(content)
    let text = code.map { String($0) }
    let refused = TokenExchangeError.refused(status: status, code: text)
    switch (code, status) {
    // Unauthorized, an invalid Api-Token, an application that is not available.
    case (400_108, _), (400_401, _), (403_100, _): self.init(refused)
    case (400_201, _), (400_301, _): self.init(refused, concern: .unknownUser)
    case (400_202, _): self.init(refused, concern: .knownUser)
    case (500_910, _): self.init(.rateLimited(retryAfter: wait))
    case (let code?, _) where (500_000...500_999).contains(code):
      self.init(.failed(status: status, code: text))
    case (_, 429): self.init(.rateLimited(retryAfter: wait))
    case (_, 408), (_, 500...): self.init(.unavailable(status: status, retryAfter: wait))
    case (_, 401): self.init(refused)
    // A firewall on the way may dislike one request, such as one with a strange user id or text.
    case (nil, 403): self.init(refused, concern: isDesk && !hasText ? .everyUser : .thisUser)
    case (nil, 400): self.init(refused, concern: .thisUser)
    case (nil, 409), (nil, 415), (nil, 422):
      self.init(refused, concern: isDesk ? .thisUser : .perhapsEveryUser)
    case (nil, 400...): self.init(refused, concern: .perhapsEveryUser)
    case (_, 400...): self.init(refused, concern: .thisUser)
    default: self.init(.unusableReply(.status(status)), concern: .perhapsEveryUser)
    }
  }

  /// The `code` of an error; nil where there is none.
  private static func code(_ content: [UInt8]) -> Int64? {
    do {
      // Any number: a code, which is only compared.
      return try JSONValue(parsing: content).object?["code"]?.int
    } catch {
      // It is not JSON. The position of the mistake helps no operator.
      return nil
    }
  }
}
