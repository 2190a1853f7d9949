// Builds the headers for requests with an access token, once for each token.

import HTTP
import JOSE
import Synchronization
import Tokens

/// The fields that every request with a token carries, made once for it and shared by all that wait.
final class BearerFields: Sendable {
  private struct Last {
    let token: AccessToken
    let fields: Fields
  }

  private let last = Mutex<Last?>(nil)

  /// Credential and content types.
  func fields(for token: AccessToken) -> Fields {
    last.withLock { last in
      if let last, last.token === token { return last.fields }
      let fields: Fields = [
        "Authorization": "Bearer " + token.secret.exposedString(), "Content-Type": "application/json",
        "Accept": "application/json",
      ]
      last = Last(token: token, fields: fields)
      return fields
    }
  }
}
