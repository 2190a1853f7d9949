// A fake identity provider that publishes keys as a test tells it to.

package import HTTP
package import JOSE
import JSON
import Synchronization

/// Callers' identity provider: gives its replies one after the other and the last for ever, counts how often it is
/// asked, and can be made to think for as long as a test wants.
package final class KeyProvider: HTTPTransport {
  package typealias Reply = Result<InboundResponse, TransportError>

  private struct State {
    var replies: [Reply]
    var count = 0
    var isThinking = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  package init(_ replies: [Reply]) { state = Mutex(State(replies: replies)) }

  /// A JWK set of keys by their `kid`, in the order that is given.
  package static func set(_ keys: KeyValuePairs<String, PublicKey>) -> [UInt8] {
    let entries = keys.map { id, key in
      var members = key.jwk()
      members["kid"] = .string(id)
      return JSONValue.object(members)
    }
    return (["keys": .array(entries)] as JSONValue).serialized()
  }

  /// How often it was asked.
  package var count: Int { state.withLock { $0.count } }

  /// From now on answers are kept back.
  package func think() { state.withLock { $0.isThinking = true } }

  /// Gives the answers that were kept back.
  package func answer() {
    let waiting = state.withLock { state in
      state.isThinking = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  package func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
    await withCheckedContinuation { continuation in
      let isThinking = state.withLock { state in
        state.count += 1
        if state.isThinking { state.waiting.append(continuation) }
        return state.isThinking
      }
      if !isThinking { continuation.resume() }
    }
    return try state.withLock { $0.replies.count > 1 ? $0.replies.removeFirst() : $0.replies[0] }.get()
  }
}

extension KeyProvider.Reply {
  /// The answer that holds these keys.
  package static func publishing(_ keys: KeyValuePairs<String, PublicKey>, _ fields: Fields = [:]) -> Self {
    .success(InboundResponse(status: 200, fields: fields, content: KeyProvider.set(keys)))
  }
}
