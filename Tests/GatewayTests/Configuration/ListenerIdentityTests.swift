// Tests of how the listener's certificate and key are loaded and checked.

import Certificates
import JOSE
import TLS
import Testing

@testable import Configuration
@testable import Gateway
@testable import RoomSupport
@testable import Serving

/// The listener's certificate and key: which are accepted, which are refused and when, and what the log says.
@Suite struct ListenerIdentityTests {
  private static let identity = TestIdentity("DNS:api.example", validUntil: 86_400 * 90)
  private let yaml = "listen: { tls: { certificate_file: /tls.pem, key_file: /tls.key } }"

  private func files(_ chain: [UInt8], _ key: [UInt8], mode: UInt32 = 0o600) -> [String: ConfigurationFiles
    .Content]
  {
    [
      "/tls.pem": ConfigurationFiles.Content(bytes: chain, mode: 0o644),
      "/tls.key": ConfigurationFiles.Content(bytes: key, mode: mode),
    ]
  }

  private func problems(_ chain: [UInt8], _ key: [UInt8]) -> [String] {
    Fixture.problems(yaml, files: files(chain, key), for: .check)
  }

  private let certificatePlace = "config.yaml:1:36: listen.tls.certificate_file: "
  private let keyPlace = "config.yaml:1:56: listen.tls.key_file: "

  @Test func `a key is taken in every form keys come in`() throws {
    let pem = String(decoding: Self.identity.keyPEM, as: UTF8.self)
    let oneLine = pem.split(separator: "\n").joined(separator: "\\n")
    let bare = pem.split(separator: "\n").dropFirst().dropLast().joined()
    for text in [pem, oneLine, bare] {
      let loaded = try Fixture.load(
        yaml, files: files(Self.identity.certificatePEM, Array(text.utf8)), for: .check)
      #expect(loaded.configuration.listen.tls?.identity.keyType == "EC, 256 bits")
      #expect(loaded.notices.isEmpty)
    }
  }

  @Test func `what does not belong together is refused where it stands`() {
    let chain = Self.identity.certificatePEM
    let other = TestIdentity("DNS:api.example")
    #expect(
      problems(chain, other.keyPEM) == [
        keyPlace
          + "names a key that does not belong to the certificate — give the private key of the certificate"
      ])
    #expect(
      problems(other.certificatePEM + chain, Self.identity.keyPEM) == [
        certificatePlace
          + "names a file in which the key's certificate is number 2 — put the server's own certificate first, then its issuers'"
      ])
    let weak = TestIdentity("DNS:api.example", key: .rsa(bits: 1024))
    #expect(
      problems(weak.certificatePEM, weak.keyPEM).first?
        .hasPrefix(certificatePlace + "names a certificate that the server cannot use for TLS (") == true)
  }

  @Test func `a file without a key is named, and no passphrase is requested`() {
    let chain = Self.identity.certificatePEM
    #expect(
      problems(chain, Self.identity.keyPEM(passphrase: "secret")) == [
        keyPlace
          + "this private key is encrypted with a passphrase; decrypt it once with: openssl pkey -in FILE -out NEWFILE"
      ])
    #expect(problems(chain, chain).first?.hasPrefix(keyPlace + "this is a certificate") == true)
  }

  @Test func `both files are judged even if the first is wrong`() {
    let found = problems(Array("none".utf8), Array("none either".utf8))
    #expect(found.count == 2)
    #expect(found.first?.hasPrefix(certificatePlace + "names a file without a certificate") == true)
    #expect(found.last?.hasPrefix(keyPlace) == true)
    var broken = Self.identity.certificatePEM
    broken[broken.count / 2] = 0x21
    let one = problems(broken, Self.identity.keyPEM)
    #expect(one.count == 1)
    #expect(
      one.first?.hasPrefix(certificatePlace + "names a file with a certificate that cannot be read (") == true
    )
  }

  @Test func `an old certificate and an open key get notices and do not stop the server`() throws {
    let old = TestIdentity("DNS:api.example", validFrom: -7200, validUntil: -3600)
    let loaded = try Fixture.load(
      yaml, files: files(old.certificatePEM, old.keyPEM, mode: 0o644), for: .serve)
    let notices = loaded.notices.map(\.description)
    #expect(notices.count == 2)
    #expect(notices.contains { $0.contains("can be read by others (mode 0644); chmod 600 it") })
    #expect(
      notices.contains { $0.contains("the certificate expired at 20") && $0.contains("Z: clients refuse it") }
    )
  }

  @Test func `the summary says whose certificate it is, what for, and how long`() throws {
    let loaded = try Fixture.load(
      yaml, files: files(Self.identity.certificatePEM, Self.identity.keyPEM), for: .check)
    let summary = ConfigurationSummary(loaded.configuration).description
    #expect(summary.contains("https://0.0.0.0:8080"))
    #expect(summary.contains("CN=Test (EC, 256 bits), chain of 1"))
    #expect(summary.contains("DNS:api.example"))
    #expect(summary.contains("valid until:"))
  }

  @Test func `only turning TLS on or off needs a start`() throws {
    let other = TestIdentity("DNS:api.example")
    let with = try Fixture.load(yaml, files: files(Self.identity.certificatePEM, Self.identity.keyPEM))
      .configuration
    let changed = try Fixture.load(yaml, files: files(other.certificatePEM, other.keyPEM)).configuration
    let without = try Fixture.load().configuration
    #expect(Reloader.unchangeable(from: with, to: changed) == [])
    #expect(Reloader.unchangeable(from: with, to: without) == ["listen.tls"])
    #expect(Reloader.unchangeable(from: without, to: with) == ["listen.tls"])
  }
}
