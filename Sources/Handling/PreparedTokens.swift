// Keeps the response of `GET /access` serialised, once for each event loop and token.

package import ChatDesk
package import HTTP
import JOSE
import Responses
import Synchronization
package import Tokens

/// Keeps, for each loop, the text response with the token that it vended last.
///
/// It holds one response per loop, replaced with the token. Every request is decided before it gets this
/// response.
package final class PreparedTokens: Sendable {
  private final class Slot: Sendable {
    let entry = Mutex<(token: AccessToken, response: PreparedResponse)?>(nil)
    let session = Mutex<PreparedResponse?>(nil)
  }

  private let slots: [Slot]

  init(loops: Int) {
    slots = (0..<loops).map { _ in Slot() }
  }

  /// The text response with a token.
  package func response(for token: AccessToken, loop: Int) -> PreparedResponse {
    slots[loop % slots.count].entry.withLock { entry in
      if let entry, entry.token === token { return entry.response }
      let response = PreparedResponse(AccessForm.text.response(token, expiresIn: 0))
      entry = (token, response)
      return response
    }
  }

  /// The text response with a session token. Those of all users differ in the content alone, if they are equally long.
  package func response(for token: SessionToken, loop: Int) -> PreparedResponse {
    slots[loop % slots.count].session.withLock { last in
      if let last, last.content.count == token.secret.count {
        return last.replacingContent(token.secret.exposedBytes())
      }
      let response = PreparedResponse(
        AccessForm.text.response(token.secret, of: token.user.text, expiresIn: 0))
      last = response
      return response
    }
  }
}
