// Helpers that run a transport, make requests and check how they fail.

import HTTP
import Testing
import Upstream

/// Runs a test's body with a transport and shuts the transport down after it.
func withTransport<Result>(
  _ settings: TransportSettings = TransportSettings(proxies: .direct),
  _ body: (CurlTransport) async throws -> Result
) async throws -> Result {
  let transport = try CurlTransport(settings)
  do {
    let result = try await body(transport)
    await transport.shutdown()
    return result
  } catch {
    await transport.shutdown()
    throw error
  }
}

extension OutboundRequest {
  /// A GET with a long timeout.
  static func get(_ url: String, timeout: Duration = .seconds(20)) -> OutboundRequest {
    OutboundRequest(method: .get, url: url, timeout: timeout)
  }

  /// A POST of JSON with a long timeout.
  static func post(
    _ url: String, _ content: String = "{}", reuse: ConnectionReuse = .never, timeout: Duration = .seconds(20)
  ) -> OutboundRequest {
    OutboundRequest(
      method: .post, url: url, fields: ["Content-Type": "application/json"], content: Array(content.utf8),
      timeout: timeout, reuse: reuse)
  }
}

extension CurlTransport {
  /// Sends a request and returns its status.
  func status(_ request: OutboundRequest) async throws -> Int { try await send(request).status }

  /// Sends a request that must be answered with 200.
  func expectOK(
    _ request: OutboundRequest, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let status = try await send(request).status
    #expect(status == 200, sourceLocation: sourceLocation)
  }

  /// Sends a request that must fail, and returns its error.
  func failure(
    _ request: OutboundRequest, sourceLocation: SourceLocation = #_sourceLocation
  ) async -> TransportError? {
    do throws(TransportError) {
      let response = try await send(request)
      Issue.record("succeeded with \(response.status)", sourceLocation: sourceLocation)
      return nil
    } catch {
      return error
    }
  }
}

/// Checks how a request failed.
func expect(
  _ error: TransportError?, _ reason: TransportError.Reason, sent: Bool,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  guard let error else { return }
  #expect(error.reason == reason, "\(error.detail)", sourceLocation: sourceLocation)
  #expect(error.sent == sent, "\(error.detail)", sourceLocation: sourceLocation)
}

extension InboundResponse {
  var text: String { String(decoding: content, as: UTF8.self) }
}
