// A fake identity provider that publishes keys as a test tells it to.

package import HTTP
package import JOSE
import JSON
import Synchronization

/// An identity provider of callers. Gives its replies in order and repeats the last one, counts requests, and
/// can wait before it answers.
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

  /// A JWK set from pairs of `kid` and key, in the given order.
  package static func set(_ keys: KeyValuePairs<String, PublicKey>) -> [UInt8] {
    let entries = keys.map { id, key in
      var members = key.jwk()
      members["kid"] = .string(id)
      return JSONValue.object(members)
    }
    return (["keys": .array(entries)] as JSONValue).serialized()
  }

  /// Number of requests so far.
  package var count: Int { state.withLock { $0.count } }

  /// Holds back responses from now on.
  package func think() { state.withLock { $0.isThinking = true } }

  /// Sends the responses held back so far, and stops holding.
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
  /// A response that publishes these keys.
  package static func publishing(_ keys: KeyValuePairs<String, PublicKey>, _ fields: Fields = [:]) -> Self {
    .success(InboundResponse(status: 200, fields: fields, content: KeyProvider.set(keys)))
  }
}
