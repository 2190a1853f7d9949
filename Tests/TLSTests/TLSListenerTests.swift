// Tests of session tickets and of certificates that change while the server runs.

import COpenSSL
import Certificates
import TLS
import TestSupport
import Testing

private typealias Options = MemoryClient.Options
private let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

/// The session that a client could resume, once it has a ticket.
private func ticket(from listener: TLSListener, _ version: Int32) throws -> OpaquePointer {
  let talk = Conversation(listener, Options(version: version))
  try talk.handshake()
  // Tickets of TLS 1.3 follow the handshake and are read with data.
  talk.send([0])
  _ = talk.client.read()
  // OpenSSL does not offer a session again if its connection ended without close_notify.
  talk.client.finish()
  return try #require(SSL_get1_session(talk.client.ssl))
}

private func resumes(_ listener: TLSListener, _ session: OpaquePointer, _ version: Int32) throws -> Bool {
  let talk = Conversation(listener, Options(version: version, session: session))
  try talk.handshake()
  return talk.client.isResumed
}

@Test(arguments: versions) func `a client that comes back with its ticket is spared the long handshake`(
  version: Int32
) throws {
  let listener = try TLSListener(TestIdentity("DNS:localhost").served())
  let session = try ticket(from: listener, version)
  defer { SSL_SESSION_free(session) }
  #expect(try resumes(listener, session, version))
  // Another server cannot read the ticket, and treats the client as new.
  let other = try TLSListener(TestIdentity("DNS:localhost").served())
  #expect(try !resumes(other, session, version))
}

@Test(arguments: versions) func `tickets outlive a new certificate`(version: Int32) throws {
  let listener = try TLSListener(TestIdentity("DNS:localhost").served())
  let session = try ticket(from: listener, version)
  defer { SSL_SESSION_free(session) }
  #expect(try listener.use(TestIdentity("DNS:localhost").served()))
  #expect(try resumes(listener, session, version))
}

@Test(arguments: versions) func `the keys of tickets change, and the one before opens a while longer`(
  version: Int32
) throws {
  let clock = ManualTime()
  let listener = try TLSListener(TestIdentity("DNS:localhost").served(), time: clock)
  let first = try ticket(from: listener, version)
  defer { SSL_SESSION_free(first) }
  clock.advance(by: .seconds(2 * 3600))
  let second = try ticket(from: listener, version)
  defer { SSL_SESSION_free(second) }
  #expect(try resumes(listener, first, version), "sealed with the key before")
  clock.advance(by: .seconds(2 * 3600))
  #expect(try !resumes(listener, first, version), "its key is gone")
  #expect(try resumes(listener, second, version))
  clock.advance(by: .seconds(10 * 3600))
  #expect(try !resumes(listener, second, version), "nobody came for so long that no key is kept")
}

@Test func `another certificate is shown to new connections and not to those that are there`() throws {
  let (old, new) = (TestIdentity("DNS:localhost"), TestIdentity("DNS:localhost"))
  let listener = try TLSListener(old.served())
  let early = Conversation(listener)
  #expect(try listener.use(new.served()))
  let late = Conversation(listener)
  try early.handshake()
  try late.handshake()
  #expect(early.client.peerFingerprint == (try old.served().certificate.fingerprint))
  #expect(late.client.peerFingerprint == (try new.served().certificate.fingerprint))
  #expect(try !listener.use(new.served()), "the same again changes nothing")
  early.client.write("still here")
  early.carry()
  #expect(early.takePlain() == "still here")
}

@Test func `a context lives as long as its sessions`() throws {
  var listener: TLSListener? = try TLSListener(TestIdentity("DNS:localhost").served())
  let talk = Conversation(try #require(listener), Options(version: TLS1_2_VERSION))
  listener = nil
  // The ticket's key is looked up during the handshake.
  try talk.handshake()
  talk.client.write("ping")
  talk.carry()
  #expect(talk.takePlain() == "ping")
}
