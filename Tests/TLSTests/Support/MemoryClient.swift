// An OpenSSL client in memory that talks to a session of the server without sockets.

import COpenSSL
import Certificates
import HTTPServer
import Platform
import Synchronization
import TLS
import Testing

/// An OpenSSL client over memory BIOs, with the bytes between it and a session.
final class MemoryClient {
  struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ operation: String) {
      let code = ERR_peek_last_error()
      description =
        operation + ": " + (ERR_reason_error_string(code).map { String(cString: $0) } ?? "\(code)")
      ERR_clear_error()
    }
  }

  /// Options of a client, applied to its `SSL_CTX`.
  struct Options {
    /// A single version, or all.
    var version: Int32?
    /// Protocols offered, in order of preference.
    var protocols: [String] = ["http/1.1"]
    /// Suites of TLS 1.2, and those of TLS 1.3.
    var suites: String?
    var suites13: String?
    /// The server name that the client requests (SNI).
    var name: String? = "localhost"
    /// The authority that must have issued the server's certificate.
    var authority: TestIdentity?
    /// A session of an earlier client.
    var session: OpaquePointer?
  }

  let ssl: OpaquePointer
  private let context: OpaquePointer
  private let input: OpaquePointer
  private let output: OpaquePointer

  init(_ options: Options = Options()) {
    guard let context = SSL_CTX_new(TLS_client_method()), let input = BIO_new(BIO_s_mem()),
      let output = BIO_new(BIO_s_mem())
    else { preconditionFailure("SSL_CTX_new") }
    self.context = context
    self.input = input
    self.output = output
    // The client must offer even what a server has to refuse.
    SSL_CTX_set_security_level(context, 0)
    let version = Int(options.version ?? 0)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, version == 0 ? Int(TLS1_VERSION) : version, nil)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, version, nil)
    SSL_CTX_set_cipher_list(context, options.suites ?? "ALL:@SECLEVEL=0")
    if let suites = options.suites13 { SSL_CTX_set_ciphersuites(context, suites) }
    if let authority = options.authority {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.certificate)
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    }
    guard let ssl = SSL_new(context) else { preconditionFailure("SSL_new") }
    self.ssl = ssl
    SSL_set_bio(ssl, input, output)
    SSL_set_connect_state(ssl)
    if let name = options.name {
      name.withCString {
        _ = SSL_ctrl(
          ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name),
          UnsafeMutablePointer(mutating: $0))
      }
    }
    let offered = options.protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    if !offered.isEmpty { SSL_set_alpn_protos(ssl, offered, UInt32(offered.count)) }
    if let session = options.session { SSL_set_session(ssl, session) }
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  /// Removes and returns the bytes that wait to be sent.
  func takeOutput() -> [UInt8] {
    var taken: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = BIO_read(output, &buffer, Int32(buffer.count))
      guard count > 0 else { return taken }
      taken += buffer[..<Int(count)]
    }
  }

  /// Feeds bytes from the server to the client.
  func give(_ octets: [UInt8]) {
    if !octets.isEmpty { precondition(BIO_write(input, octets, Int32(octets.count)) == octets.count) }
  }

  /// Continues the handshake. Returns whether it is complete.
  func handshake() throws -> Bool {
    ERR_clear_error()
    let status = SSL_do_handshake(ssl)
    if status == 1 { return true }
    guard SSL_get_error(ssl, status) == SSL_ERROR_WANT_READ else { throw Failure("SSL_do_handshake") }
    return false
  }

  func write(_ octets: [UInt8]) { precondition(SSL_write(ssl, octets, Int32(octets.count)) == octets.count) }
  func write(_ text: String) { write(Array(text.utf8)) }

  /// The server's data, and OpenSSL's state: `SSL_ERROR_WANT_READ`, or `SSL_ERROR_ZERO_RETURN` after its end.
  func read() -> (octets: [UInt8], error: Int32) {
    var taken: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      ERR_clear_error()
      let count = SSL_read(ssl, &buffer, Int32(buffer.count))
      guard count > 0 else { return (taken, SSL_get_error(ssl, count)) }
      taken += buffer[..<Int(count)]
    }
  }

  func finish() { SSL_shutdown(ssl) }

  var version: Int32 { SSL_version(ssl) }
  var suite: String { SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)).map { String(cString: $0) } ?? "" }
  var isResumed: Bool { SSL_session_reused(ssl) == 1 }
  /// SHA-256 of the server's certificate.
  var peerFingerprint: [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    let certificate = SSL_get1_peer_certificate(ssl)
    X509_digest(certificate, EVP_sha256(), &digest, nil)
    X509_free(certificate)
    return digest
  }
  /// The protocol agreed on.
  var chosenProtocol: String? {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &count)
    return count == 0
      ? nil : String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
  }
}

/// A session and its client, and everything sent between them.
final class Conversation {
  let client: MemoryClient
  let session: TLSSession
  private(set) var plain: [UInt8] = []
  private(set) var state = StreamFilterState.open

  init(
    _ listener: TLSListener, _ options: MemoryClient.Options = MemoryClient.Options(), events: Events? = nil
  ) {
    client = MemoryClient(options)
    session = listener.session { event in events?.add(event) }
  }

  /// Passes the client's output to the session in pieces, and the responses back.
  func carry(pieces: Int = .max) {
    var rest = client.takeOutput()[...]
    while !rest.isEmpty, state == .open {
      var wire: [UInt8] = []
      let piece = rest.prefix(pieces)
      rest = rest.dropFirst(piece.count)
      state = Array(piece).span.received(by: session, &plain, &wire)
      client.give(wire)
    }
  }

  /// Performs the complete handshake, including the tickets after it.
  func handshake(pieces: Int = .max) throws {
    while try !client.handshake() {
      carry(pieces: pieces)
      guard state == .open else {
        // The alert says why.
        _ = try client.handshake()
        throw MemoryClient.Failure("the session is \(state)")
      }
    }
    carry(pieces: pieces)
  }

  /// Sends bytes from the server through the session.
  func send(_ octets: [UInt8]) {
    var wire: [UInt8] = []
    session.send(octets, wire: &wire)
    client.give(wire)
  }

  /// Ends the server's side.
  func finish() {
    var wire: [UInt8] = []
    session.finish(wire: &wire)
    client.give(wire)
  }

  /// Removes and returns the text that the session decrypted.
  func takePlain() -> String {
    defer { plain = [] }
    return String(decoding: plain, as: UTF8.self)
  }
}

/// The events that sessions reported.
final class Events: Sendable {
  private let list = Mutex<[String]>([])
  func add(_ event: TLSEvent) {
    let words =
      switch event {
      case .established: "established"
      case .abandoned: "abandoned"
      case .refused(let failure): "refused: \(failure)"
      case .broken(let failure): "broken: \(failure)"
      }
    list.withLock { $0.append(words) }
  }
  var all: [String] { list.withLock { $0 } }
}

extension Span<UInt8> {
  func received(by session: TLSSession, _ plain: inout [UInt8], _ wire: inout [UInt8]) -> StreamFilterState {
    session.receive(self, plain: &plain, wire: &wire)
  }
}

extension TestIdentity {
  /// The identity as a server uses it, with its issuers' certificates after its own.
  func served(_ issuers: TestIdentity...) throws -> TLSIdentity {
    try TLSIdentity(chain: certificatePEM + issuers.flatMap(\.certificatePEM), key: keyPEM)
  }
}
