// An outgoing request after the checks that need no network, ready for the transfer thread.

import HTTP
import Platform

/// A request that has passed every check that needs no network, as the transfer thread receives it.
struct TransferPlan: Sendable {
  let method: Method
  let route: TransferRoute
  let content: OutboundContent
  let maximumContentLength: Int
  /// Receives the content of a response with status 200 piece by piece; nil if the content is collected.
  let onContent: (@Sendable ([UInt8]) -> Bool)?
  /// Lets the reader pause that content.
  let hold: ContentHold?
  /// Whether the request may use a pooled connection, and may leave its connection in the pool.
  let reuse: Bool
  /// Whether the request is sent once more if its connection dies without a response (RFC 9110 §9.2.2).
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

  /// The addresses of `localhost`, whatever a resolver says. Plain http is allowed to `localhost` because it
  /// stays on this machine.
  static let loopback = [IPAddress(v4: 0x7F00_0001), IPAddress(v6High: 0, low: 1)]
}
