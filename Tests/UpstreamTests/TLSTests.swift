// Tests of how the transport verifies certificates and resumes TLS sessions.

import COpenSSL
import Certificates
import Foundation
import Glibc
import HTTP
import Synchronization
import TestSupport
import Testing
import Upstream

/// Which server is trusted as the upstream: one with a valid chain is, and everything else fails before a
/// byte is sent.
@Suite(.serialized, .timeLimit(.minutes(5))) final class TLSTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
  private static let names = "DNS:localhost,DNS:upstream.test,IP:127.0.0.1"

  private let authority = TestIdentity("", isAuthority: true)
  private let caFile: String

  init() { caFile = authority.writeCertificate() }
  deinit { unlink(caFile) }

  /// Records which handshakes resumed a session.
  private final class Resumptions: Sendable {
    private let seen = Mutex<[Bool]>([])
    var all: [Bool] { seen.withLock { $0 } }
    func append(_ isResumed: Bool) { seen.withLock { $0.append(isResumed) } }
  }

  /// An upstream that answers every request over TLS.
  private func script(_ context: TLSContext, _ resumptions: Resumptions? = nil) -> Script {
    Script { connection in
      try connection.startTLS(context)
      resumptions?.append(connection.resumesSession)
      try connection.answerAll(Self.ok)
    }
  }

  private func expectRefusal(
    _ context: TLSContext, host: String = "localhost", caFile: String? = nil, saying words: String? = nil,
    _ failure: TransportDiagnosis.Failure? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await withUpstream(script(context)) { upstream in
      try await withTransport(TransportSettings(authorities: .file(caFile ?? self.caFile))) { transport in
        let error = await transport.failure(
          .post("https://\(host):\(upstream.port)/"), sourceLocation: sourceLocation)
        expect(error, .tls, sent: false, sourceLocation: sourceLocation)
        if let words {
          #expect(
            error?.detail.contains(words) == true, "\(error?.detail ?? "")", sourceLocation: sourceLocation)
        }
        if let failure {
          #expect(error?.diagnosis == TransportDiagnosis(.server, failure), sourceLocation: sourceLocation)
        }
        #expect(upstream.arrivals == 0, sourceLocation: sourceLocation)
        // The client may give up before the server's thread accepts the connection.
        try await eventually { upstream.connections > 0 }
        #expect(upstream.connections == 1, "a second try was made", sourceLocation: sourceLocation)
      }
    }
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func `a chain to the given authority is believed, and its connections are reused`(host: String) async throws
  {
    let context = TLSContext(TestIdentity(Self.names, issuer: authority))
    try await withUpstream(script(context)) { upstream in
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        for _ in 1...10 {
          let response = try await transport.send(.post("https://\(host):\(upstream.port)/", reuse: .allowed))
          #expect(response.text == "ok")
        }
        #expect(upstream.connections == 1)
        for _ in 1...3 {
          _ = try await transport.send(.post("https://\(host):\(upstream.port)/", reuse: .never))
        }
        #expect(upstream.connections == 4)
      }
    }
  }

  @Test func `authorities given as text are believed instead of the system's, and no others`() async throws {
    let context = TLSContext(TestIdentity(Self.names, issuer: authority))
    try await withUpstream(script(context)) { upstream in
      try await withTransport(TransportSettings(authorities: .pem(authority.certificatePEM))) { transport in
        let response = try await transport.send(.post("https://localhost:\(upstream.port)/"))
        #expect(response.text == "ok")
      }
    }
    let stranger = TestIdentity("", isAuthority: true)
    try await withUpstream(script(context)) { upstream in
      try await withTransport(TransportSettings(authorities: .pem(stranger.certificatePEM))) { transport in
        await #expect(throws: TransportError.self) {
          try await transport.send(.post("https://localhost:\(upstream.port)/"))
        }
        #expect(upstream.arrivals == 0)
      }
    }
  }

  /// Requests that may not share a connection still share the cost of the first handshake.
  @Test(arguments: [Int(TLS1_2_VERSION), Int(TLS1_3_VERSION)])
  func `connections of their own resume the session of an earlier one, with the same host only`(
    version: Int
  ) async throws {
    let context = TLSContext(TestIdentity(Self.names, issuer: authority), only: version)
    let resumptions = Resumptions()
    try await withUpstream(script(context, resumptions)) { upstream in
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        for host in ["localhost", "localhost", "localhost", "127.0.0.1", "127.0.0.1"] {
          _ = try await transport.send(.post("https://\(host):\(upstream.port)/"))
        }
        #expect(resumptions.all == [false, true, true, false, true])
        #expect(upstream.connections == 5)
      }
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        _ = try await transport.send(.post("https://localhost:\(upstream.port)/"))
        #expect(resumptions.all.last == false, "transports share nothing")
      }
    }
  }

  @Test(arguments: [Int(TLS1_2_VERSION), Int(TLS1_3_VERSION)])
  func `a server that saves no sessions resumes them by ticket`(version: Int) async throws {
    let context = TLSContext(TestIdentity(Self.names, issuer: authority), only: version)
    context.forgetSessions()
    let resumptions = Resumptions()
    try await withUpstream(script(context, resumptions)) { upstream in
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        for _ in 1...3 { _ = try await transport.send(.post("https://localhost:\(upstream.port)/")) }
      }
    }
    #expect(resumptions.all == [false, true, true])
  }

  /// Parsing 150 certificates for each connection would cost more than a hundred handshakes.
  @Test func `authorities are read once, not for each connection`() async throws {
    let context = TLSContext(TestIdentity(Self.names, issuer: authority))
    let file = authority.writeCertificate()
    defer { unlink(file) }
    try await withUpstream(script(context)) { upstream in
      let settings = TransportSettings(authorities: .file(file), sessionLifetime: .zero)
      try await withTransport(settings) { transport in
        _ = try await transport.send(.post("https://localhost:\(upstream.port)/"))
        unlink(file)
        _ = try await transport.send(.post("https://localhost:\(upstream.port)/"))
      }
    }
  }

  @Test func `authorities given as text are a file in memory until the transport ends`() async throws {
    try await withTransport(TransportSettings(authorities: .pem(authority.certificatePEM))) { _ in
      #expect(filesInMemory(authority.certificatePEM) == 1)
    }
    try await eventually { filesInMemory(authority.certificatePEM) == 0 }
  }

  /// Number of unnamed files in this process that have this content.
  private func filesInMemory(_ content: [UInt8]) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.count { name in
      let path = "/proc/self/fd/\(name)"
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
      return target?.contains("memfd:callgate-authorities") == true
        && FileManager.default.contents(atPath: path) == Data(content)
    }
  }

  @Test func `sessions are resumed for a time only`() async throws {
    let context = TLSContext(TestIdentity(Self.names, issuer: authority))
    let resumptions = Resumptions()
    try await withUpstream(script(context, resumptions)) { upstream in
      let settings = TransportSettings(authorities: .file(caFile), sessionLifetime: .zero)
      try await withTransport(settings) { transport in
        for _ in 1...2 { _ = try await transport.send(.post("https://localhost:\(upstream.port)/")) }
      }
    }
    #expect(resumptions.all == [false, false])
  }

  /// libcurl checks the name after the session can already be resumed. A resumed session would be checked
  /// against the same wrong certificate again.
  @Test(arguments: [Int(TLS1_2_VERSION), Int(TLS1_3_VERSION)])
  func `a server that shows a wrong certificate for a moment is reached again after it`(version: Int)
    async throws
  {
    let right = TestIdentity(Self.names, issuer: authority)
    let context = TLSContext(TestIdentity("DNS:elsewhere.test", issuer: authority), only: version)
    let script = Script { connection in
      if connection.index == 2 { context.show(right) }
      try connection.startTLS(context)
      try connection.answerAll(Self.ok)
    }
    try await withUpstream(script) { upstream in
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        expect(await transport.failure(.post("https://localhost:\(upstream.port)/")), .tls, sent: false)
        let response = try await transport.send(.post("https://localhost:\(upstream.port)/"))
        #expect(response.text == "ok")
      }
    }
  }

  @Test func `who has forgotten a session must show a certificate again`() async throws {
    let contexts = [
      TLSContext(TestIdentity(Self.names, issuer: authority)),
      TLSContext(TestIdentity(Self.names, issuer: authority)), TLSContext(TestIdentity(Self.names)),
    ]
    let script = Script { connection in
      try connection.startTLS(contexts[connection.index - 1])
      try connection.answerAll(Self.ok)
    }
    try await withUpstream(script) { upstream in
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        for _ in 1...2 {
          let response = try await transport.send(.post("https://localhost:\(upstream.port)/"))
          #expect(response.text == "ok")
        }
        expect(await transport.failure(.post("https://localhost:\(upstream.port)/")), .tls, sent: false)
      }
    }
  }

  @Test func `a self-signed certificate is refused`() async throws {
    try await expectRefusal(
      TLSContext(TestIdentity(Self.names)), saying: "self-signed", .certificate(.selfSigned))
  }

  @Test func `a chain to another authority is refused`() async throws {
    let other = TestIdentity("", isAuthority: true)
    try await expectRefusal(
      TLSContext(TestIdentity(Self.names, issuer: other)), saying: "unable to get local issuer",
      .certificate(.unknownIssuer))
  }

  @Test func `a chain to the given authority is refused by the system's bundle`() async throws {
    let context = TLSContext(TestIdentity(Self.names, issuer: authority))
    try await withUpstream(script(context)) { upstream in
      try await withTransport { transport in
        expect(await transport.failure(.post("https://localhost:\(upstream.port)/")), .tls, sent: false)
        #expect(upstream.arrivals == 0)
      }
    }
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func `a certificate for another name is refused`(host: String) async throws {
    try await expectRefusal(
      TLSContext(TestIdentity("DNS:other.test,IP:127.0.0.2", issuer: authority)), host: host,
      saying: "no alternative certificate subject name matches", .certificate(.wrongName))
  }

  @Test func `a certificate without names is refused, whatever its subject`() async throws {
    try await expectRefusal(TLSContext(TestIdentity("", issuer: authority)))
  }

  @Test func `an expired certificate is refused`() async throws {
    try await expectRefusal(
      TLSContext(TestIdentity(Self.names, issuer: authority, validFrom: -7200, validUntil: -3600)),
      saying: "certificate has expired", .certificate(.expired))
  }

  @Test func `a certificate that is not yet valid is refused`() async throws {
    try await expectRefusal(
      TLSContext(TestIdentity(Self.names, issuer: authority, validFrom: 3600, validUntil: 7200)),
      saying: "not yet valid", .certificate(.notYetValid))
  }

  @Test func `a key of 1024 RSA bits is refused and one of 2048 is not`() async throws {
    try await expectRefusal(
      TLSContext(TestIdentity(Self.names, issuer: authority, key: .rsa(bits: 1024))), saying: "too weak",
      .certificate(.weak))
    let context = TLSContext(TestIdentity(Self.names, issuer: authority, key: .rsa(bits: 2048)))
    try await withUpstream(script(context)) { upstream in
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        let response = try await transport.send(.get("https://localhost:\(upstream.port)/"))
        #expect(response.status == 200)
      }
    }
  }

  @Test func `a server that speaks TLS 1.1 at most is refused`() async throws {
    try await expectRefusal(
      TLSContext(TestIdentity(Self.names, issuer: authority), onlyTLS11: true), .handshake)
  }

  @Test func `a connection closed or reset in the handshake, or answered in the clear, is a TLS failure`()
    async throws
  {
    for script in [
      Script { _ = try $0.read() },
      Script { connection in
        _ = try connection.read()
        connection.reset()
      },
      Script { connection in
        _ = try connection.read()
        try connection.write(Self.ok)
      },
    ] {
      try await withUpstream(script) { upstream in
        try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
          expect(await transport.failure(.post("https://localhost:\(upstream.port)/")), .tls, sent: false)
          #expect(upstream.connections == 1)
        }
      }
    }
  }

  /// libcurl accepts any end as the end of such content. Refusing it here would turn a success whose content
  /// nobody needs into an unknown outcome, and truncated JSON is refused by its parser.
  @Test func `an answer without a length is taken even if TLS does not end properly`() async throws {
    let context = TLSContext(TestIdentity(Self.names, issuer: authority))
    try await withUpstream(
      Script { connection in
        try connection.startTLS(context)
        _ = try connection.readRequest()
        try connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of")
        connection.endsAbruptly = true
      }
    ) { upstream in
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        let response = try await transport.send(.post("https://localhost:\(upstream.port)/"))
        #expect(response.text == "half of")
      }
    }
  }

  @Test func `content with a length that TLS ends early is a lost connection`() async throws {
    let context = TLSContext(TestIdentity(Self.names, issuer: authority))
    try await withUpstream(
      Script { connection in
        try connection.startTLS(context)
        _ = try connection.readRequest()
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf of")
      }
    ) { upstream in
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        expect(
          await transport.failure(.post("https://localhost:\(upstream.port)/")), .connectionLost, sent: true)
      }
    }
  }

  @Test func `a file of authorities that cannot be read is refused at the start`() throws {
    #expect(throws: TransportSetupError.self) {
      try CurlTransport(TransportSettings(authorities: .file("/nonexistent.pem")))
    }
  }

  @Test func `a file of authorities without any is a TLS failure`() async throws {
    var path = Array("/tmp/upstream-ca-XXXXXX".utf8CString)
    close(mkstemp(&path))
    let file = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { unlink(file) }
    try await expectRefusal(TLSContext(TestIdentity(Self.names, issuer: authority)), caFile: file)
  }

  @Test func `only a server on this machine may go unverified, and only where that is said`() async throws {
    let context = TLSContext(TestIdentity("DNS:elsewhere.test"))
    try await withUpstream(script(context)) { upstream in
      for host in ["localhost", "127.0.0.1"] {
        try await withTransport(TransportSettings(authorities: .file(caFile), verifiesLoopback: false)) {
          transport in
          let response = try await transport.send(.post("https://\(host):\(upstream.port)/"))
          #expect(response.text == "ok")
        }
      }
      try await withTransport(TransportSettings(authorities: .file(caFile))) { transport in
        expect(await transport.failure(.post("https://127.0.0.1:\(upstream.port)/")), .tls, sent: false)
      }
    }
  }

  @Test
  func `a server whose key is pinned needs no chain, no name and no validity, and another one is refused`()
    async throws
  {
    let identity = TestIdentity("DNS:elsewhere.test", validUntil: -60)
    let settings = TransportSettings(authorities: .file(caFile), pinnedKey: "sha256//" + identity.keyPin)
    try await withUpstream(script(TLSContext(identity))) { upstream in
      try await withTransport(settings) { transport in
        let response = try await transport.send(.post("https://127.0.0.1:\(upstream.port)/"))
        #expect(response.text == "ok")
      }
    }
    // Not even a certificate that would otherwise be trusted.
    let other = TestIdentity(Self.names, issuer: authority)
    try await withUpstream(script(TLSContext(other))) { upstream in
      try await withTransport(settings) { transport in
        let error = await transport.failure(.post("https://127.0.0.1:\(upstream.port)/"))
        expect(error, .tls, sent: false)
        #expect(error?.diagnosis == TransportDiagnosis(.server, .certificate(.otherKey)))
        #expect(upstream.arrivals == 0)
      }
    }
  }
}
