// Builds the headers for requests with an access token, once for each token.

import HTTP
import JOSE
import Synchronization
import Tokens

/// The header fields for the latest access token. All requests that use the token share them.
final class BearerFields: Sendable {
  private struct Last {
    let token: AccessToken
    let fields: Fields
  }

  private let last = Mutex<Last?>(nil)

  /// The header fields for requests with a token: authorization and media types.
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
