// Keeps the response of `GET /access` serialised, once for each event loop and token.

import HTTP
import Synchronization
import Tokens

/// Keeps, for each loop, the text answer with the token it vended last.
///
/// Bounded: one answer a loop, replaced with the token. It never outlives a decision: whether a token may be
/// vended is asked before this is.
final class PreparedTokens: Sendable {
  private final class Slot: Sendable {
    let entry = Mutex<(token: AccessToken, response: PreparedResponse)?>(nil)
  }

  private let slots: [Slot]

  init(loops: Int) {
    slots = (0..<loops).map { _ in Slot() }
  }

  /// The text answer with a token.
  func response(for token: AccessToken, loop: Int) -> PreparedResponse {
    slots[loop % slots.count].entry.withLock { entry in
      if let entry, entry.token === token { return entry.response }
      let response = PreparedResponse(AccessForm.text.response(token, expiresIn: 0))
      entry = (token, response)
      return response
    }
  }
}
