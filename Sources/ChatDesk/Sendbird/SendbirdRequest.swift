// One request to Sendbird, before its host and token are filled in.

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
  /// Whether sending the request twice would have a second effect. Such a request gets a new connection,
  /// because a pooled one may close without a response.
  let isAtMostOnce: Bool

  /// - Parameter method: By default POST if there is content, otherwise GET.
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
