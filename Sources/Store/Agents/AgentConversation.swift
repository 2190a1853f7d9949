// The conversation in which an AI agent requests a callback, and when a second request in it is a repetition.

import Gate

/// The conversation of an AI agent's request. It decides when another request with the same key is a repetition.
///
/// A client's `Idempotency-Key` answers every retry as the first request was answered. An agent's key ends earlier: after a span, and
/// with a callback that certainly rings nobody.
public struct AgentConversation: Hashable, Sendable {
  /// A digest of caller, subject and the agent's id of the conversation.
  package let id: StoreID
  /// For how long after its creation a callback is answered for the same request.
  package let repeats: Duration

  package init(id: StoreID, repeats: Duration) {
    self.id = id
    self.repeats = repeats
  }
}
