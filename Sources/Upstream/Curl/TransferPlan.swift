// An outgoing request after the checks that need no network, ready for the transfer thread.

import HTTP
import Platform

/// A request that passed every check which needs no network: what the transfer thread is handed.
struct TransferPlan: Sendable {
  let method: Method
  let route: TransferRoute
  let content: OutboundContent
  let maximumContentLength: Int
  /// Takes the content of a success; nil where it is collected.
  let onContent: (@Sendable ([UInt8]) -> Bool)?
  /// Holds that content up.
  let hold: ContentHold?
  /// Whether a pooled connection may carry it and may be left in the pool.
  let reuse: Bool
  /// Whether it is sent once more where its connection dies unanswered (RFC 9110 §9.2.2).
  let mayRepeat: Bool

  init(_ request: OutboundRequest, _ routes: TransferRoutes) throws(TransportError) {
    do throws(Target.Refusal) {
      switch request.method {
      case .get, .head:
        guard request.content.isEmpty else { throw Target.Refusal("content with \(request.method.rawValue)") }
      case .post, .put, .patch, .delete, .options: break
      case .trace, .connect, .other:
        throw Target.Refusal("the method is not GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
      }
      route = try routes.route(of: request)
    } catch {
      throw TransportError(.invalidURL, sent: false, detail: error.detail)
    }
    method = request.method
    content = request.content
    maximumContentLength = max(0, request.maximumContentLength)
    onContent = request.onContent
    hold = request.hold
    reuse = request.reuse != .never
    mayRepeat = request.reuse == .allowedAndRepeatable || request.method == .get || request.method == .head
  }

  /// The addresses that `localhost` has whatever a resolver says: plain http depends on it.
  static let loopback = [IPAddress(v4: 0x7F00_0001), IPAddress(v6High: 0, low: 1)]
}
