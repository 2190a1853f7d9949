// Connects OpenSSL to the connection's own buffers, so that bytes are not copied and idle sessions hold no memory.

import COpenSSL

/// Where a session's octets come from and go to while it is at work: a `BIO` of our own over memory that others own, so
/// that nothing is copied on the way and an idle session keeps nothing.
///
/// The BIO is made by `makeBIO` and belongs to the session it is given to. Both are used by the session's thread only.
struct SessionPort {
  /// Octets from the network that the session has not taken yet.
  var input: UnsafePointer<UInt8>?
  var inputCount = 0
  /// Where octets for the network are appended.
  var output: UnsafeMutablePointer<[UInt8]>?
  /// Steps that OpenSSL made for handshake messages and alerts, beyond those that records of data paid for. Counted by
  /// `countSteps`.
  private var idleSteps = 0

  /// A client that asks for new keys without end, or for renegotiation, would keep its loop busy for nothing, and
  /// OpenSSL (3.0) would let it: so many steps beyond those paid for end the session. New keys take up to five.
  private static let maximumIdleSteps = 160
  /// What a record of data pays for, so that a client which changes keys now and then is never at the end.
  private static let stepsPerRecord = 8
  /// OpenSSL reads ahead: at most so many octets have been taken when the maximum is noticed.
  private static let pieceSize = 4096

  /// Whether the session has talked of itself for too long.
  var isIdle: Bool { idleSteps > Self.maximumIdleSteps }

  /// A record of data has come.
  mutating func paid() { idleSteps = max(0, idleSteps - Self.stepsPerRecord) }

  /// The handshake is done, whose steps do not count.
  mutating func beginsToCount() { idleSteps = 0 }

  /// Forgets the memory that was lent.
  mutating func close() {
    (input, inputCount, output) = (nil, 0, nil)
  }

  /// Counts the steps of a context's sessions (`SSL_CTX_set_info_callback`).
  static func countSteps(of context: OpaquePointer) {
    SSL_CTX_set_info_callback(context) { session, event, _ in
      guard event & (SSL_CB_LOOP | SSL_CB_ALERT) != 0 else { return }
      SessionPort.port(of: SSL_get_rbio(session))?.pointee.idleSteps += 1
    }
  }

  /// A BIO over a port, which must outlive it (`BIO_new`).
  static func makeBIO(over port: UnsafeMutablePointer<SessionPort>) -> OpaquePointer? {
    guard let bio = BIO_new(Method.shared.handle) else { return nil }
    BIO_set_data(bio, port)
    return bio
  }

  /// A `BIO_METHOD`, made once in the life of the process and never freed.
  ///
  /// `@unchecked Sendable`: it is filled in `init` and only read from then on.
  private final class Method: @unchecked Sendable {
    static let shared = Method()
    let handle: OpaquePointer

    private init() {
      guard let handle = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "callgate") else {
        preconditionFailure("no memory for a BIO_METHOD")
      }
      self.handle = handle
      BIO_meth_set_read_ex(handle, SessionPort.read)
      BIO_meth_set_write_ex(handle, SessionPort.write)
      // Flushing is all that a session asks for, and there is nothing to do.
      BIO_meth_set_ctrl(handle) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    }
  }

  private typealias Read =
    @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>?) -> Int32
  private typealias Write =
    @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int, UnsafeMutablePointer<Int>?) -> Int32

  /// Hands out input; says "later" where there is none.
  private static let read: Read = { bio, buffer, room, count in
    BIO_clear_flags(bio, retryFlags)
    guard let port = port(of: bio), port.pointee.inputCount > 0, let input = port.pointee.input, let buffer
    else {
      BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
      return 0
    }
    // Neither data nor "later": the session fails.
    guard !port.pointee.isIdle else { return 0 }
    let taken = min(room, port.pointee.inputCount, pieceSize)
    UnsafeMutableRawPointer(buffer).copyMemory(from: input, byteCount: taken)
    port.pointee.input = input + taken
    port.pointee.inputCount -= taken
    count?.pointee = taken
    return 1
  }

  /// Takes output, all of it.
  private static let write: Write = { bio, octets, length, count in
    BIO_clear_flags(bio, retryFlags)
    guard let output = port(of: bio)?.pointee.output else { return 0 }
    output.pointee.append(contentsOf: UnsafeRawBufferPointer(start: octets, count: length))
    count?.pointee = length
    return 1
  }

  private static let retryFlags =
    BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_IO_SPECIAL | BIO_FLAGS_SHOULD_RETRY

  private static func port(of bio: OpaquePointer?) -> UnsafeMutablePointer<SessionPort>? {
    BIO_get_data(bio)?.assumingMemoryBound(to: SessionPort.self)
  }
}
