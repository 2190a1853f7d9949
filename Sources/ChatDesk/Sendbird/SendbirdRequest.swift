// One request to Sendbird, before it has a host and a token.

import HTTP
import JSON

/// A request to one of Sendbird's two hosts.
struct SendbirdRequest: Sendable {
  /// The hosts, each with a token of its own.
  enum Host: Hashable, Sendable { case platform, desk }

  let method: Method
  let purpose: SendbirdReport.Purpose
  let host: Host
  let path: String
  let content: JSONObject?
  /// Whether a repetition would do something twice. It then has a connection of its own, because a pooled one may die unanswered.
  let isAtMostOnce: Bool

  /// - Parameter method: Without one, a request with content is a POST, and a GET otherwise.
  init(
    _ purpose: SendbirdReport.Purpose, to host: Host, _ path: String, _ content: JSONObject? = nil,
    method: Method? = nil, isAtMostOnce: Bool = false
  ) {
    self.method = method ?? (content == nil ? .get : .post)
    self.purpose = purpose
    self.host = host
    self.path = path
    self.content = content
    self.isAtMostOnce = isAtMostOnce
  }
}
