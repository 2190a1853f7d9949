// Tests of the TLS handshake and of the versions, ciphers and protocols that it accepts.

import COpenSSL
import Certificates
import HTTPServer
import Testing

@testable import TLS

private let identity = TestIdentity("DNS:localhost,IP:127.0.0.1")
private let versions = [TLS1_2_VERSION, TLS1_3_VERSION]
private typealias Options = MemoryClient.Options

private func listener() throws -> TLSListener { try TLSListener(identity.served()) }

@Test(arguments: versions) func `a client is greeted and both sides understand each other`(version: Int32)
  throws
{
  let talk = Conversation(try listener(), Options(version: version, authority: identity))
  try talk.handshake()
  #expect(talk.client.version == version)
  #expect(SSL_get_verify_result(talk.client.ssl) == Int(X509_V_OK))
  talk.client.write("ping")
  talk.carry()
  #expect(talk.takePlain() == "ping")
  talk.send(Array("pong".utf8))
  #expect(talk.client.read().octets == Array("pong".utf8))
}

@Test(arguments: versions, [1, 2, 5, 7]) func `everything may come in pieces`(version: Int32, size: Int)
  throws
{
  let talk = Conversation(try listener(), Options(version: version))
  try talk.handshake(pieces: size)
  talk.client.write("GET / HTTP/1.1\r\n\r\n")
  talk.client.write("GET /2 HTTP/1.1\r\n\r\n")
  talk.carry(pieces: size)
  #expect(talk.takePlain() == "GET / HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n")
  talk.client.finish()
  talk.carry(pieces: size)
  #expect(talk.state == .ended)
}

@Test(arguments: versions) func `a record that has come in part holds a buffer until the rest has come`(
  version: Int32
) throws {
  let talk = Conversation(try listener(), Options(version: version))
  try talk.handshake()
  #expect(talk.session.heldOctets == 0)
  talk.client.write(String(repeating: "x", count: 16_000))
  let record = talk.client.takeOutput()
  var (plain, wire): ([UInt8], [UInt8]) = ([], [])
  _ = Array(record.dropLast()).span.received(by: talk.session, &plain, &wire)
  #expect(plain.isEmpty && talk.session.heldOctets >= 16_384)
  _ = Array(record.suffix(1)).span.received(by: talk.session, &plain, &wire)
  #expect(plain.count == 16_000 && talk.session.heldOctets == 0)
}

@Test func `the newest version is taken`() throws {
  let talk = Conversation(try listener())
  try talk.handshake()
  #expect(talk.client.version == TLS1_3_VERSION)
}

@Test(arguments: [TLS1_VERSION, TLS1_1_VERSION]) func `older versions are refused`(version: Int32) throws {
  let events = Events()
  let talk = Conversation(try listener(), Options(version: version), events: events)
  #expect(throws: MemoryClient.Failure.self) { try talk.handshake() }
  #expect(talk.state == .failed)
  #expect(events.all == ["refused: SSL_read_ex: unsupported protocol"])
}

/// Neither this machine's OpenSSL nor any client still compresses, so only the context can tell.
@Test func `compression, renegotiation and the client's order of suites are switched off in each context`()
  throws
{
  let identity = try identity.served()
  let options = SSL_CTX_get_options(try TLSContext(identity, tickets: nil).handle)
  for (name, bit) in [
    ("SSL_OP_NO_COMPRESSION", 17), ("SSL_OP_NO_RENEGOTIATION", 30), ("SSL_OP_CIPHER_SERVER_PREFERENCE", 22),
    ("SSL_OP_PRIORITIZE_CHACHA", 21),
  ] {
    #expect(options >> bit & 1 == 1, "\(name)")
  }
  #expect(SSL_CTX_get_security_level(try TLSContext(identity, tickets: nil).handle) == 2)
}

@Test(arguments: [
  // Without forward secrecy, without authenticated encryption, both on finite fields, without a certificate.
  "AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-SHA256", "DHE-RSA-AES128-GCM-SHA256",
  "AECDH-AES128-SHA", "ECDHE-ECDSA-AES128-CCM", "NULL-SHA256",
])
func `suites without ephemeral keys or authenticated encryption are refused`(suite: String) throws {
  let talk = Conversation(try listener(), Options(version: TLS1_2_VERSION, suites: suite + ":@SECLEVEL=0"))
  #expect(throws: MemoryClient.Failure.self) { try talk.handshake() }
  #expect(talk.state == .failed)
}

@Test(arguments: [
  ("ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
  ("ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
  ("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-GCM-SHA256"),
])
func `a processor without AES gets ChaCha20, every other AES-128`(offered: String, chosen: String) throws {
  let talk = Conversation(try listener(), Options(version: TLS1_2_VERSION, suites: offered))
  try talk.handshake()
  #expect(talk.client.suite == chosen)
}

@Test(
  arguments: [
    ([], nil), (["http/1.1"], "http/1.1"), (["h2", "http/1.1"], "http/1.1"),
    (["http/1.1", "h2"], "http/1.1"),
  ] as [([String], String?)])
func `http/1.1 is agreed on where it is offered`(offered: [String], chosen: String?) throws {
  let talk = Conversation(try listener(), Options(protocols: offered))
  try talk.handshake()
  #expect(talk.client.chosenProtocol == chosen)
}

@Test(arguments: versions, [["h2"], ["h2", "spdy/3"], ["http/1.0"]])
func `a client with other protocols only gets an alert`(version: Int32, offered: [String]) throws {
  let talk = Conversation(try listener(), Options(version: version, protocols: offered))
  let error = #expect(throws: MemoryClient.Failure.self) { try talk.handshake() }
  #expect(error?.description.contains("no application protocol") == true)
  #expect(talk.state == .failed)
}

@Test(arguments: [nil, "other.example", "127.0.0.1", "localhost."])
func `the name a client asks for makes no difference`(name: String?) throws {
  let talk = Conversation(try listener(), Options(name: name))
  try talk.handshake()
  #expect(talk.client.peerFingerprint == (try identity.served().certificate.fingerprint))
}

@Test func `renegotiation is refused and the connection stays open`() throws {
  let talk = Conversation(try listener(), Options(version: TLS1_2_VERSION))
  try talk.handshake()
  SSL_renegotiate(talk.client.ssl)
  // The server answers the client's hello with a warning, which OpenSSL's client takes as the end of its
  // handshake.
  _ = try? talk.client.handshake()
  talk.carry()
  #expect(talk.state == .open)
  let error = #expect(throws: MemoryClient.Failure.self) { _ = try talk.client.handshake() }
  #expect(error?.description.contains("no renegotiation") == true)
  talk.send(Array("still here".utf8))
  #expect(talk.state == .open)
}

@Test func `a request in the clear is recognised and nothing is answered to it`() throws {
  for request in [
    "GET / HTTP/1.1\r\n", "POST /token/app HTTP/1.1\r\n", "HEAD / HTTP/1.0\r\n", "CONNECT a:1 HTTP/1.1\r\n",
  ] {
    let session = try listener().session()
    var (plain, wire): ([UInt8], [UInt8]) = ([], [])
    #expect(Array(request.utf8).span.received(by: session, &plain, &wire) == .clear)
    #expect(plain.isEmpty && wire.isEmpty)
  }
}

@Test(
  arguments: [
    [0x16, 0x03, 0x01, 0x00, 0x04, 0x01, 0xFF, 0xFF, 0xFF], Array("SSH-2.0-OpenSSH\r\n".utf8),
    [UInt8](repeating: 0, count: 300),
    [0x16, 0x03, 0x01, 0xFF, 0xFF] + [UInt8](repeating: 0x16, count: 1000),
    [0x17, 0x03, 0x03, 0x00, 0x01, 0x00],
    [0x80, 0x2E, 0x01, 0x00, 0x02] + [UInt8](repeating: 1, count: 60),
  ] as [[UInt8]])
func `bytes that are no handshake fail once and stay failed`(octets: [UInt8]) throws {
  let events = Events()
  let session = try listener().session { events.add($0) }
  var (plain, wire): ([UInt8], [UInt8]) = ([], [])
  #expect(octets.span.received(by: session, &plain, &wire) == .failed)
  #expect(octets.span.received(by: session, &plain, &wire) == .failed)
  #expect(plain.isEmpty)
  #expect(events.all.count == 1)
  let before = wire
  session.send([1, 2, 3], wire: &wire)
  session.finish(wire: &wire)
  #expect(wire == before, "a failed session has said its last word")
}

@Test(arguments: versions) func `a record that was tampered with ends the session with an alert`(
  version: Int32
) throws {
  let talk = Conversation(try listener(), Options(version: version))
  try talk.handshake()
  talk.client.write("transfer 1")
  var octets = talk.client.takeOutput()
  octets[octets.count - 1] ^= 1
  var (plain, wire): ([UInt8], [UInt8]) = ([], [])
  #expect(octets.span.received(by: talk.session, &plain, &wire) == .failed)
  #expect(plain.isEmpty)
  talk.client.give(wire)
  #expect(talk.client.read().error == SSL_ERROR_SSL)
}

@Test(arguments: versions) func `a client that has ended is still answered`(version: Int32) throws {
  let talk = Conversation(try listener(), Options(version: version))
  try talk.handshake()
  talk.client.write("GET")
  talk.client.finish()
  talk.carry()
  #expect(talk.takePlain() == "GET")
  #expect(talk.state == .ended)
  talk.send(Array("answer".utf8))
  talk.finish()
  let heard = talk.client.read()
  #expect(heard.octets == Array("answer".utf8))
  #expect(heard.error == SSL_ERROR_ZERO_RETURN)
}

@Test(arguments: versions) func `the server's end is said once`(version: Int32) throws {
  let talk = Conversation(try listener(), Options(version: version))
  try talk.handshake()
  var wire: [UInt8] = []
  talk.session.finish(wire: &wire)
  #expect(!wire.isEmpty)
  let count = wire.count
  talk.session.finish(wire: &wire)
  #expect(wire.count == count)
  talk.client.give(wire)
  #expect(talk.client.read().error == SSL_ERROR_ZERO_RETURN)
}

@Test func `nothing goes out before or during the handshake but the handshake`() throws {
  let talk = Conversation(try listener())
  var wire: [UInt8] = []
  talk.session.send(Array("HTTP/1.1 503".utf8), wire: &wire)
  talk.session.finish(wire: &wire)
  #expect(wire.isEmpty)
  _ = try talk.client.handshake()
  var plain: [UInt8] = []
  _ = talk.client.takeOutput().span.received(by: talk.session, &plain, &wire)
  let flight = wire
  #expect(!flight.isEmpty)
  talk.session.send(Array("HTTP/1.1 503".utf8), wire: &wire)
  talk.session.finish(wire: &wire)
  #expect(wire == flight)
  // The handshake continues unharmed.
  talk.client.give(wire)
  try talk.handshake()
}

@Test(arguments: versions) func `a megabyte goes each way unharmed`(version: Int32) throws {
  let talk = Conversation(try listener(), Options(version: version))
  try talk.handshake()
  let octets = (0..<1_048_577).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  talk.client.write(octets)
  talk.carry(pieces: 16_384)
  #expect(talk.plain == octets)
  talk.send(octets)
  #expect(talk.client.read().octets == octets)
}

@Test func `an answer is one record, and so are answers sent together`() throws {
  let talk = Conversation(try listener())
  try talk.handshake()
  var wire: [UInt8] = []
  talk.session.send([UInt8](repeating: 0x78, count: 5_000), wire: &wire)
  // Header, one octet for the type, tag (RFC 8446 §5.2).
  #expect(wire.count == 5 + 5_000 + 1 + 16)
}

@Test func `many small records come out as one piece`() throws {
  let talk = Conversation(try listener())
  try talk.handshake()
  for number in 0..<200 { talk.client.write("\(number),") }
  talk.carry()
  #expect(talk.takePlain() == (0..<200).map { "\($0)," }.joined())
}

@Test func `keys may be updated, and asked to be`() throws {
  let talk = Conversation(try listener(), Options(version: TLS1_3_VERSION))
  try talk.handshake()
  for _ in 0..<3 {
    SSL_key_update(talk.client.ssl, SSL_KEY_UPDATE_REQUESTED)
    talk.client.write("ping")
    talk.carry()
    #expect(talk.takePlain() == "ping")
    talk.send(Array("pong".utf8))
    #expect(talk.client.read().octets == Array("pong".utf8))
  }
  #expect(talk.state == .open)
}

@Test(arguments: [SSL_KEY_UPDATE_REQUESTED, SSL_KEY_UPDATE_NOT_REQUESTED])
func `a client that changes keys without end is left, one that asks for something meanwhile is not`(
  kind: Int32
) throws {
  let events = Events()
  let talk = Conversation(try listener(), Options(version: TLS1_3_VERSION), events: events)
  try talk.handshake()
  // Between requests, the client may renew keys without limit, even a few times in a row.
  for number in 0..<300 {
    for _ in 0..<(number % 100 == 0 ? 20 : 1) {
      SSL_key_update(talk.client.ssl, kind)
      #expect(try talk.client.handshake())
    }
    for _ in 0..<(number % 100 == 0 ? 20 : 1) { talk.client.write("ping") }
    talk.carry()
    _ = talk.client.read()
  }
  #expect(talk.state == .open && events.all == ["established"])
  #expect(talk.takePlain().utf8.count == 4 * (297 + 3 * 20))
  var count = 0
  while talk.state == .open, count < 1000 {
    count += 1
    SSL_key_update(talk.client.ssl, kind)
    #expect(try talk.client.handshake())
    talk.carry()
    _ = talk.client.read()
  }
  #expect((30...90).contains(count), "\(count)")
  #expect(talk.state == .failed)
  #expect(events.all.last == "broken: SSL_read_ex: too many messages without data")
}

@Test func `new keys that come all at once are not all made`() throws {
  let talk = Conversation(try listener(), Options(version: TLS1_3_VERSION))
  try talk.handshake()
  for _ in 0..<2000 {
    SSL_key_update(talk.client.ssl, SSL_KEY_UPDATE_REQUESTED)
    #expect(try talk.client.handshake())
  }
  talk.client.write("ping")
  var (plain, wire): ([UInt8], [UInt8]) = ([], [])
  #expect(talk.client.takeOutput().span.received(by: talk.session, &plain, &wire) == .failed)
  #expect(plain.isEmpty)
  // Each was answered with a record of its own, of at least 22 octets.
  #expect(wire.count < 300 * 64, "\(wire.count)")
}

@Test(arguments: versions) func `the result of a session is reported once`(version: Int32) throws {
  let events = Events()
  var talk: Conversation? = Conversation(try listener(), Options(version: version), events: events)
  try talk?.handshake()
  #expect(events.all == ["established"])
  talk?.client.write("ping")
  talk?.carry()
  talk?.client.finish()
  talk?.carry()
  talk = nil
  #expect(events.all == ["established"])
}

@Test(arguments: versions) func `a changed record differs from a failed handshake`(
  version: Int32
) throws {
  let events = Events()
  let talk = Conversation(try listener(), Options(version: version), events: events)
  try talk.handshake()
  talk.client.write("transfer 1")
  var octets = talk.client.takeOutput()
  octets[octets.count - 1] ^= 1
  var (plain, wire): ([UInt8], [UInt8]) = ([], [])
  #expect(octets.span.received(by: talk.session, &plain, &wire) == .failed)
  #expect(events.all.count == 2)
  #expect(events.all.last?.hasPrefix("broken: SSL_read_ex: ") == true)
}

@Test func `a client that leaves during its handshake is reported, one that never began is not`() throws {
  let events = Events()
  var talk: Conversation? = Conversation(try listener(), events: events)
  _ = try talk?.client.handshake()
  talk?.carry()
  #expect(events.all.isEmpty)
  talk = nil
  #expect(events.all == ["abandoned"])

  let none = Events()
  var silent: Conversation? = Conversation(try listener(), events: none)
  #expect(silent != nil)
  silent = nil
  #expect(none.all.isEmpty)
}

@Test(arguments: versions) func `a client that closes TLS during its handshake is reported`(
  version: Int32
) throws {
  let events = Events()
  var talk: Conversation? = Conversation(try listener(), Options(version: version), events: events)
  _ = try talk?.client.handshake()
  talk?.carry()
  // close_notify, in the clear: no keys are agreed on yet.
  let goodbye: [UInt8] = [21, 3, 3, 0, 2, 1, 0]
  var (plain, wire): ([UInt8], [UInt8]) = ([], [])
  if let session = talk?.session {
    #expect(goodbye.span.received(by: session, &plain, &wire) == .ended)
  }
  #expect(events.all.isEmpty)
  talk = nil
  #expect(events.all == ["abandoned"])
}
