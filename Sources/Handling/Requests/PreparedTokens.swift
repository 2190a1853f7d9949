// Caches serialized text responses with tokens: for each event loop, the last one with an account token and
// the last one with a session token.

package import ChatDesk
package import HTTP
import JOSE
import Responses
import Synchronization
package import Tokens

/// Caches, for each loop, the text responses with the tokens that it vended last.
///
/// Each loop has one response with an account token and one with a session token. A request gets one of these
/// responses only after the rules have allowed it.
package final class PreparedTokens: Sendable {
  /// A class, because each request would copy a structure.
  private final class Entry: Sendable {
    let token: AccessToken
    let response: PreparedResponse

    init(_ token: AccessToken) {
      self.token = token
      response = PreparedResponse(AccessForm.text.response(token, expiresIn: 0))
    }
  }

  private final class Slot: Sendable {
    let entry = Mutex<Entry?>(nil)
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
      let made = Entry(token)
      entry = made
      return made.response
    }
  }

  /// The text response with a session token. Responses for different users differ only in the content, if
  /// their tokens have the same length.
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
