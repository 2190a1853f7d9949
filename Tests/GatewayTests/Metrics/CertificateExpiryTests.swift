// Tests of the metric that tells when the listener's certificate expires.

import Certificates
import Foundation
import HTTP
import JSON
import Metrics
import TLS
import Testing

@testable import Gateway
@testable import Serving

/// The time until which clients accept the certificate, as the metrics report it.
@Suite(.timeLimit(.minutes(2))) struct CertificateExpiryTests {
  private static let name = "callgate_tls_certificate_expiry_timestamp_seconds"

  private static func value(in text: some Sequence<UInt8>) -> String? {
    String(decoding: Array(text), as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("\(name) ") }
      .map { String($0.dropFirst(name.utf8.count + 1)) }
  }

  @Test func `the first certificate of the chain to end counts, wherever it stands`() throws {
    let issuer = TestIdentity("", isAuthority: true, validUntil: 86_400)
    let long = TestIdentity("DNS:api.example", issuer: issuer, validUntil: 86_400 * 90)
    let short = TestIdentity("DNS:api.example", issuer: issuer, validUntil: 3600)
    func expiry(of leaf: TestIdentity) throws -> String? {
      let identity = try TLSIdentity(chain: leaf.certificatePEM + issuer.certificatePEM, key: leaf.keyPEM)
      var text = MetricsText()
      try TLSListener(identity).appendExpiry(to: &text)
      return Self.value(in: text.bytes)
    }
    #expect(try expiry(of: long) == String(issuer.notAfter))
    #expect(try expiry(of: short) == String(short.notAfter))
  }

  @Test func `a renewed certificate counts once it is shown, and a refused one never does`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "expiry-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let chain = folder.appending(path: "tls.pem")
    let key = folder.appending(path: "tls.key")
    func put(_ identity: TestIdentity, key other: TestIdentity? = nil) throws {
      try Data(identity.certificatePEM).write(to: chain, options: .atomic)
      try Data((other ?? identity).keyPEM).write(to: key, options: .atomic)
    }
    let old = TestIdentity("DNS:api.example", validUntil: 86_400)
    let renewed = TestIdentity("DNS:api.example", validUntil: 86_400 * 90)
    try put(old)
    let service = try RunningService(
      environment: ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"],
      yaml: """
        admin: { port: 0 }
        listen: { tls: { certificate_file: "\(chain.path)", key_file: "\(key.path)" } }
        """)
    // The admin listener speaks plain HTTP.
    let line = try await service.line("admin listener started")
    let address = try #require((line["server.address"] ?? line["address"])?.string)
    func scraped() async throws -> String? {
      Self.value(in: try await service.ask(.get, at: "http://\(address)/metrics").content)
    }
    #expect(try await scraped() == String(old.notAfter))
    try put(renewed, key: old)
    #expect(await service.reload() == false)
    #expect(try await scraped() == String(old.notAfter))
    try put(renewed)
    #expect(await service.reload())
    #expect(try await scraped() == String(renewed.notAfter))
    _ = try await service.end()
  }

  @Test func `without TLS nothing is said of a certificate`() async throws {
    let service = try RunningService(
      environment: ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"], yaml: "admin: { port: 0 }")
    let line = try await service.line("admin listener started")
    let address = try #require((line["server.address"] ?? line["address"])?.string)
    let page = try await service.ask(.get, at: "http://\(address)/metrics")
    #expect(page.status == 200)
    #expect(!String(decoding: page.content, as: UTF8.self).contains(Self.name))
    _ = try await service.end()
  }
}
