// One request to Sendbird, before it has a host and a token.

import JSON

/// A request to one of Sendbird's two hosts. With content it is a POST, otherwise a GET.
struct SendbirdRequest: Sendable {
  /// The hosts, each with a token of its own.
  enum Host: Hashable, Sendable { case platform, desk }

  let purpose: SendbirdReport.Purpose
  let host: Host
  let path: String
  let content: JSONObject?
  /// Whether a repetition would do something twice. It then has a connection of its own, because a pooled one may die unanswered.
  let isAtMostOnce: Bool

  init(
    _ purpose: SendbirdReport.Purpose, to host: Host, _ path: String, _ content: JSONObject? = nil,
    isAtMostOnce: Bool = false
  ) {
    self.purpose = purpose
    self.host = host
    self.path = path
    self.content = content
    self.isAtMostOnce = isAtMostOnce
  }
}
