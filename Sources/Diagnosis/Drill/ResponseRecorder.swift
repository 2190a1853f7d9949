// Records the full response to a request while the client reads it.

import HTTP
import Synchronization

/// A transport that passes requests on and saves the last response.
final class ResponseRecorder: HTTPTransport {
  /// A response, and whether its content was received completely.
  struct Response: Sendable {
    var message: InboundResponse
    var isWhole: Bool
  }

  private let transport: any HTTPTransport
  private let last = Mutex<Response?>(nil)

  init(_ transport: any HTTPTransport) { self.transport = transport }

  /// The last response; nil if no status was received.
  var response: Response? { last.withLock { $0 } }

  func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
    do throws(TransportError) {
      let message = try await transport.send(request)
      last.withLock { $0 = Response(message: message, isWhole: true) }
      return message
    } catch {
      last.withLock { $0 = error.head.map { Response(message: $0, isWhole: false) } }
      throw error
    }
  }
}
