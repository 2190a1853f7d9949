// Tests of which requests share their URL and headers in memory.

import CCurl
import HTTP
import Testing

@testable import Upstream

@Suite struct TransferRouteTests {
  private func request(
    _ url: String = "https://api.example/calls", token: String = "Bearer one", content: String = "{}",
    reuse: OutboundRequest.ConnectionReuse = .never
  ) -> OutboundRequest {
    OutboundRequest(
      method: .post, url: url, fields: ["Authorization": token, "Accept": "application/json"],
      content: Array(content.utf8), timeout: .seconds(1), reuse: reuse)
  }

  @Test func `requests that differ in their content alone share a route`() throws {
    let routes = TransferRoutes(TransportSettings())
    let first = try routes.route(of: request())
    #expect(try routes.route(of: request(content: "[]")) === first)
  }

  @Test func `another credential or place is another route`() throws {
    let routes = TransferRoutes(TransportSettings())
    let first = try routes.route(of: request())
    let renewed = try routes.route(of: request(token: "Bearer two"))
    #expect(renewed !== first)
    let elsewhere = try routes.route(of: request("https://other.example/calls", token: "Bearer two"))
    #expect(elsewhere !== renewed)
    #expect(elsewhere.target.host == "other.example")
    let again = try routes.route(of: request())
    #expect(again !== elsewhere && again.url == first.url)
    #expect(lines(again) == lines(first) && lines(renewed) != lines(first))
  }

  @Test func `a request that may share a connection is not remembered, nor its credential`() throws {
    let routes = TransferRoutes(TransportSettings())
    weak let first = try routes.route(of: request(reuse: .allowed))
    #expect(first == nil)
  }

  @Test func `what is refused is not remembered`() throws {
    let routes = TransferRoutes(TransportSettings())
    for _ in 0..<2 {
      #expect(throws: Target.Refusal.self) { try routes.route(of: request("http://other.example/")) }
      #expect(throws: Target.Refusal.self) { try routes.route(of: request(token: "a\r\nb")) }
    }
  }

  /// The lines passed to libcurl.
  private func lines(_ route: TransferRoute) -> [String] {
    var lines: [String] = []
    var node = route.fields.head
    while let here = node {
      lines.append(String(cString: here.pointee.data))
      node = here.pointee.next
    }
    return lines
  }
}
