// Identifies the conversation in which an AI agent requests a callback, so that the store can tell a repeated
// request from a new one.

import Gate

/// The conversation of an AI agent's request. Requests in one conversation for the same number and time have
/// the same key.
///
/// A retry with a client's `Idempotency-Key` gets the first response until that key expires or is freed. An
/// agent's key expires earlier: after `repeats`, or as soon as it is certain that the callback will not ring.
public struct AgentConversation: Hashable, Sendable {
  /// A digest of the caller, the subject and the agent's id of the conversation.
  package let id: StoreID
  /// How long after the first callback's creation a repeated request gets that callback.
  package let repeats: Duration

  package init(id: StoreID, repeats: Duration) {
    self.id = id
    self.repeats = repeats
  }
}
