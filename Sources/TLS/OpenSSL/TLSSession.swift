// The server's side of one TLS connection: decrypts incoming bytes and encrypts outgoing ones.

import COpenSSL
public import HTTPServer

/// The server's side of one TLS connection, between a connection's octets and the network's: an `SSL`, made
/// by `SSL_new`, freed by `SSL_free` in `deinit`. The session touches no socket.
///
/// Used on the connection's loop only, like the connection itself.
public final class TLSSession: StreamFilter {
  private enum State { case open, ended, failed }

  private let handle: OpaquePointer
  /// The context, kept alive for the ticket keys that OpenSSL's callback needs. OpenSSL itself keeps only
  /// the `SSL_CTX` alive.
  private let context: TLSContext
  private let port: UnsafeMutablePointer<SessionPort>
  private let observer: (@Sendable (TLSEvent) -> Void)?
  private var state = State.open
  /// Whether the client has sent anything.
  private var hasBegun = false
  public private(set) var isEstablished = false

  /// The maximum size of a record's data, in octets (RFC 8446 §5.1).
  private static let recordSize = 16_384

  /// The maximum size of OpenSSL's buffer for a record that has arrived in part; 0 if there is none.
  /// OpenSSL frees the buffer once the record is complete (`SSL_MODE_RELEASE_BUFFERS`).
  public var heldOctets: Int { SSL_has_pending(handle) == 1 ? Self.recordSize + Self.recordOverhead : 0 }

  /// The most octets that TLS 1.2 adds to a record's data (2048), and the record's header (5); see RFC 5246
  /// §6.2.3.
  private static let recordOverhead = 2048 + 5

  /// Makes a session that waits for a client's first octets.
  ///
  /// - Parameter observer: Receives the result of the handshake, and the reason if the session fails.
  init(_ context: TLSContext, observer: (@Sendable (TLSEvent) -> Void)? = nil) {
    port = .allocate(capacity: 1)
    port.initialize(to: SessionPort())
    guard let handle = SSL_new(context.handle), let bio = SessionPort.makeBIO(over: port) else {
      preconditionFailure("no memory for a TLS session")
    }
    self.handle = handle
    self.context = context
    self.observer = observer
    SSL_set_bio(handle, bio, bio)
    SSL_set_accept_state(handle)
  }

  deinit {
    if hasBegun, !isEstablished, state != .failed { observer?(.abandoned) }
    SSL_free(handle)
    port.deallocate()
  }

  public func receive(
    _ octets: Span<UInt8>, plain: inout [UInt8], wire: inout [UInt8]
  ) -> StreamFilterState {
    guard state == .open else { return state == .ended ? .ended : .failed }
    hasBegun = hasBegun || !octets.isEmpty
    return octets.withUnsafeBufferPointer { input in
      withUnsafeMutablePointer(to: &wire) { output in
        (port.pointee.input, port.pointee.inputCount) = (input.baseAddress, input.count)
        port.pointee.output = output
        defer { port.pointee.close() }
        return read(into: &plain)
      }
    }
  }

  public func send(_ plain: [UInt8], wire: inout [UInt8]) {
    // Before the handshake is finished, `plain` is dropped, so that nothing goes out in the clear.
    guard !plain.isEmpty, state != .failed, SSL_is_init_finished(handle) == 1 else { return }
    withUnsafeMutablePointer(to: &wire) { output in
      port.pointee.output = output
      defer { port.pointee.close() }
      TLSFailure.forget()
      var count = 0
      if SSL_write_ex(handle, plain, plain.count, &count) != 1 { fail(TLSFailure("SSL_write_ex")) }
    }
  }

  public func finish(wire: inout [UInt8]) {
    guard state != .failed, SSL_is_init_finished(handle) == 1 else { return }
    withUnsafeMutablePointer(to: &wire) { output in
      port.pointee.output = output
      defer { port.pointee.close() }
      TLSFailure.forget()
      // 0 means that our `close_notify` is sent and the client's has not arrived. The server does not wait
      // for it. A negative status means that there is no session to end.
      if SSL_shutdown(handle) < 0 { ERR_clear_error() }
    }
  }

  // MARK: -

  /// Processes all input: responds to handshake messages and appends data.
  private func read(into plain: inout [UInt8]) -> StreamFilterState {
    TLSFailure.forget()
    while true {
      var status: Int32 = 0
      plain.append(addingCapacity: Self.recordSize) { span in
        span.withUnsafeMutableBufferPointer { buffer, initialized in
          var count = 0
          status = SSL_read_ex(handle, buffer.baseAddress, buffer.count, &count)
          initialized += count
        }
      }
      noteHandshake()
      guard status == 1 else { return stop(status) }
      port.pointee.paid()
      // The input is usually one record. This check saves the call that would only find no more data.
      guard port.pointee.inputCount > 0 || SSL_has_pending(handle) == 1 else { return .open }
    }
  }

  private func noteHandshake() {
    guard !isEstablished, SSL_is_init_finished(handle) == 1 else { return }
    isEstablished = true
    port.pointee.beginsToCount()
    observer?(.established)
  }

  private func stop(_ status: Int32) -> StreamFilterState {
    if port.pointee.isIdle {
      ERR_clear_error()
      fail(TLSFailure("SSL_read_ex", because: "too many messages without data"))
      return .failed
    }
    switch SSL_get_error(handle, status) {
    case SSL_ERROR_WANT_READ: return .open
    case SSL_ERROR_ZERO_RETURN:
      state = .ended
      return .ended
    default:
      let isHTTP = Self.isHTTP(ERR_peek_last_error())
      fail(TLSFailure("SSL_read_ex"))
      return isHTTP ? .clear : .failed
    }
  }

  private func fail(_ failure: TLSFailure) {
    state = .failed
    observer?(isEstablished ? .broken(failure) : .refused(failure))
  }

  /// Whether an error means that the client sent an HTTP request in the clear.
  private static func isHTTP(_ code: UInt) -> Bool {
    guard code >> 23 & 0xFF == UInt(ERR_LIB_SSL) else { return false }
    let reason = Int32(code & 0x7F_FFFF)
    return reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST
  }
}
