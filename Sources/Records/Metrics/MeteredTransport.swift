// Counts the server's outgoing requests by purpose.

package import HTTP
package import Platform

/// A transport for one purpose, whose requests are counted under it.
package struct MeteredTransport: HTTPTransport {
  let transport: any HTTPTransport
  let upstream: ServiceMetrics.Upstream
  let metrics: ServiceMetrics
  let clock: any TimeSource

  package init(
    transport: any HTTPTransport, upstream: ServiceMetrics.Upstream, metrics: ServiceMetrics,
    clock: any TimeSource
  ) {
    self.transport = transport
    self.upstream = upstream
    self.metrics = metrics
    self.clock = clock
  }

  package func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
    let start = clock.now
    do throws(TransportError) {
      let response = try await transport.send(request)
      let isSuccess = (200..<300).contains(response.status)
      count(
        isSuccess ? "success" : response.status < 500 ? "refused" : "failed", since: start,
        isSuccess: isSuccess)
      return response
    } catch {
      let outcome =
        switch error.reason {
        case .timedOut: "timed_out"
        case .cancelled: "cancelled"
        case .overloaded: "overloaded"
        case .malformedResponse, .responseTooLarge: "failed"
        case .invalidURL, .nameResolution, .connect, .tls, .connectionLost: "unreachable"
        }
      count(outcome, since: start, isSuccess: false)
      throw error
    }
  }

  private func count(_ outcome: String, since start: MonotonicTime, isSuccess: Bool) {
    metrics.asked(
      upstream, outcome: outcome, took: clock.now - start, success: isSuccess ? clock.unixTime : nil)
  }
}
