// Tests of requests through a proxy.

import Certificates
import Glibc
import HTTP
import Platform
import Synchronization
import Testing

@testable import Upstream

/// Requests through a CONNECT proxy.
@Suite(.serialized, .timeLimit(.minutes(5))) final class ProxyTests {
  private let authority = TestIdentity("", isAuthority: true)
  private let caFile: String

  init() { caFile = authority.writeCertificate() }
  deinit { unlink(caFile) }

  /// An upstream behind TLS that only the proxy can reach by its name.
  private var script: Script {
    let context = TLSContext(TestIdentity("DNS:upstream.test", issuer: authority))
    return Script { connection in
      try connection.startTLS(context)
      try connection.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
  }

  /// A proxy that connects every CONNECT to one port, whatever name it asks for.
  private let proxy = { @Sendable (port: Int) in
    Script { connection in
      guard let request = try connection.readRequest(), request.requestLine.hasPrefix("CONNECT ") else {
        return
      }
      try connection.write("HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n")
      try connection.tunnel(to: port)
    }
  }

  private func settings(_ variables: [String: String]) throws -> TransportSettings {
    TransportSettings(authorities: .file(caFile), proxies: try ProxySettings(environment: variables))
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `a request goes through the tunnel, encrypted, and tunnels are reused`(proxyHost: String) async throws
  {
    try await withUpstream(script) { upstream in
      try await withUpstream(proxy(upstream.port)) { proxy in
        let variables = ["https_proxy": "http://us%65r:p%40ss@\(proxyHost):\(proxy.port)"]
        try await withTransport(try settings(variables)) { transport in
          var request = OutboundRequest.post("https://upstream.test/a", reuse: .allowed)
          request.fields["Authorization"] = "Bearer secret"
          for _ in 1...3 {
            let response = try await transport.send(request)
            #expect(response.text == "ok")
            #expect(response.fields["X-Proxy"] == nil)
          }
          #expect(proxy.connections == 1)
          #expect(upstream.arrivals == 3)
          let head = try #require(proxy.heads.first)
          #expect(head.hasPrefix("CONNECT upstream.test:443 HTTP/1.1\r\n"))
          #expect(head.contains("Proxy-Authorization: Basic dXNlcjpwQHNz\r\n"))
          #expect(!head.contains("secret"))
          #expect(
            upstream.heads.allSatisfy { !$0.contains("Proxy-Authorization") && $0.contains("Bearer secret") })
        }
      }
    }
  }

  @Test func `a proxy that refuses, closes or talks nonsense is a failed connection, nothing sent`()
    async throws
  {
    for answer in [
      "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
      "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 502 Bad Gateway\r\n\r\n", "", "nonsense\r\n\r\n",
    ] {
      try await withUpstream(
        Script { connection in
          _ = try connection.readRequest()
          try connection.write(answer)
        }
      ) { proxy in
        let settings = try settings(["https_proxy": "http://user:hidden@127.0.0.1:\(proxy.port)"])
        try await withTransport(settings) { transport in
          let error = await transport.failure(.post("https://upstream.test/"))
          expect(error, .connect, sent: false)
          #expect(error?.detail.contains("hidden") == false)
        }
      }
    }
  }

  @Test func `a proxy that hangs ends at the connect timeout`() async throws {
    try await withUpstream(Script { try $0.waitForClose() }) { proxy in
      var settings = try settings(["https_proxy": "http://127.0.0.1:\(proxy.port)"])
      settings.connectTimeout = .milliseconds(300)
      try await withTransport(settings) { transport in
        expect(await transport.failure(.post("https://upstream.test/")), .connect, sent: false)
      }
    }
  }

  @Test func `the upstream's certificate is checked through the tunnel`() async throws {
    try await withUpstream(script) { upstream in
      try await withUpstream(proxy(upstream.port)) { proxy in
        try await withTransport(try settings(["ALL_PROXY": "127.0.0.1:\(proxy.port)"])) { transport in
          expect(await transport.failure(.post("https://other.test/")), .tls, sent: false)
          #expect(upstream.arrivals == 0)
        }
      }
    }
  }

  @Test func `loopback and hosts in no_proxy are reached without the proxy`() async throws {
    try await withUpstream(Script { try $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }) {
      upstream in
      try await withUpstream(Script { _ in }) { proxy in
        let address = "http://127.0.0.1:\(proxy.port)"
        let variables = [
          "https_proxy": address, "http_proxy": address, "all_proxy": address, "no_proxy": ".invalid",
        ]
        try await withTransport(try settings(variables)) { transport in
          for host in ["localhost", "127.0.0.1"] {
            let response = try await transport.send(.get("http://\(host):\(upstream.port)/"))
            #expect(response.status == 200)
          }
          expect(await transport.failure(.get("https://upstream.invalid/")), .nameResolution, sent: false)
          #expect(proxy.connections == 0)
        }
      }
    }
  }

  @Test func `a proxy whose name does not resolve is a name failure`() async throws {
    try await withTransport(try settings(["https_proxy": "http://proxy.invalid:3128"])) { transport in
      let error = await transport.failure(.post("https://upstream.test/"))
      expect(error, .nameResolution, sent: false)
      #expect(error?.detail.hasPrefix("proxy.invalid") == true)
    }
  }

  @Test func `a proxy that is spoken to over TLS is verified like an upstream`() async throws {
    let good = TLSContext(TestIdentity("DNS:localhost", issuer: authority))
    let wrong = TLSContext(TestIdentity("DNS:other.test", issuer: authority))
    let weak = TLSContext(TestIdentity("DNS:localhost", issuer: authority, key: .rsa(bits: 1024)))
    let tunnel = { [proxy] (port: Int, context: TLSContext) in
      Script { connection in
        try connection.startTLS(context)
        try proxy(port).run(connection)
      }
    }
    try await withUpstream(script) { upstream in
      try await withUpstream(tunnel(upstream.port, good)) { proxy in
        try await withTransport(try settings(["https_proxy": "https://localhost:\(proxy.port)"])) {
          transport in
          let response = try await transport.send(.post("https://upstream.test/"))
          #expect(response.text == "ok")
          #expect(proxy.heads.first?.hasPrefix("CONNECT upstream.test:443 ") == true)
        }
      }
      for refused in [wrong, weak] {
        try await withUpstream(tunnel(upstream.port, refused)) { proxy in
          try await withTransport(try settings(["https_proxy": "https://localhost:\(proxy.port)"])) {
            transport in
            expect(await transport.failure(.post("https://upstream.test/")), .tls, sent: false)
            #expect(proxy.arrivals == 0)
          }
        }
      }
    }
  }

  @Test func `a SOCKS proxy gets the name, or the address where the name is resolved here`() async throws {
    let addressed = Mutex<[[UInt8]]>([])
    let lookUp: NameLookup.Function = { name, done in
      done(
        name == "upstream.test"
          ? .success([IPAddress(v4: 0xC000_0207)])
          : .failure(LookupFailure(isTemporary: false, detail: "unexpected \(name)")))
    }
    try await withUpstream(script) { upstream in
      // RFC 1928: a greeting, a request, then the tunnel.
      let socks = Script { connection in
        _ = try connection.read()
        try connection.write([5, 0])
        let request = try connection.read() ?? []
        addressed.withLock { $0.append(request) }
        try connection.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        try connection.tunnel(to: upstream.port)
      }
      try await withUpstream(socks) { proxy in
        for (scheme, request) in [
          ("socks5h", [5, 1, 0, 3, 13] + Array("upstream.test".utf8) + [1, 187]),
          ("socks5", [5, 1, 0, 1, 192, 0, 2, 7, 1, 187]),
        ] {
          let transport = try CurlTransport(
            try settings(["all_proxy": "\(scheme)://127.0.0.1:\(proxy.port)"]), names: NameCache(),
            lookUp: lookUp)
          let response = try await transport.send(.post("https://upstream.test/"))
          await transport.shutdown()
          #expect(response.text == "ok")
          #expect(addressed.withLock { $0.last } == request)
        }
      }
    }
  }

  // MARK: The environment of a process

  private static let childVariable = "CALLGATE_TEST_PROXY_ENVIRONMENT"

  @Test func `without a setting the environment names the proxy`() async throws {
    try await withUpstream(
      Script { connection in
        _ = try connection.readRequest()
        try connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
      }
    ) { proxy in
      let status = await ChildProcess.run(
        [
          CommandLine.arguments[0], "--testing-library", "swift-testing", "--filter", "proxyEnvironmentChild",
        ],
        environment: [
          Self.childVariable: "1", "https_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": "",
        ])
      #expect(status == 0)
      #expect(proxy.heads.map { $0.prefix { $0 != "\r\n" } } == ["CONNECT upstream.test:443 HTTP/1.1"])
    }
  }

  @Test(.enabled(if: getenv(childVariable) != nil, "the other half of the test before"))
  func proxyEnvironmentChild() async throws {
    try await withTransport(TransportSettings()) { transport in
      expect(await transport.failure(.post("https://upstream.test/")), .connect, sent: false)
    }
  }

  @Test func `a malformed proxy variable keeps the transport from starting`() throws {
    let error = #expect(throws: ProxySettings.Malformed.self) {
      try ProxySettings(environment: ["https_proxy": "http://user:hidden@host:port"])
    }
    #expect(error.map { TransportSetupError.proxy($0).description.contains("https_proxy") } == true)
    #expect(error.map { TransportSetupError.proxy($0).description.contains("hidden") } == false)
  }
}
