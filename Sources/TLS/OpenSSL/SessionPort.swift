// Connects OpenSSL to the buffers of a connection, so that an idle session needs no buffers of its own.

import COpenSSL

/// The input and output buffers of a session during one call. A custom `BIO` reads and writes the
/// connection's memory directly. So no buffer is needed in between, and an idle session holds no memory.
///
/// The BIO is made by `makeBIO` and belongs to the session. Only the session's thread uses the port and the
/// BIO.
struct SessionPort {
  /// Octets from the network that the session has not read yet.
  var input: UnsafePointer<UInt8>?
  var inputCount = 0
  /// The buffer to which octets for the network are appended.
  var output: UnsafeMutablePointer<[UInt8]>?
  /// The number of OpenSSL's steps for handshake messages and alerts, counted by `countSteps`. The end of
  /// the handshake resets it, and each record of data reduces it.
  private var idleSteps = 0

  /// The maximum of `idleSteps`. Beyond it the session fails. A client that requests new keys or
  /// renegotiation without end would keep its loop busy for nothing, and OpenSSL (3.0) would let it. New
  /// keys take up to five steps.
  private static let maximumIdleSteps = 160
  /// The number of steps that each record of data subtracts, so that a client that changes keys now and
  /// then never reaches the maximum.
  private static let stepsPerRecord = 8
  /// The most octets that OpenSSL gets at a time. OpenSSL reads ahead, so it may have up to this many
  /// unprocessed octets when the session reaches `maximumIdleSteps`.
  private static let pieceSize = 4096

  /// Whether the session has made too many steps without enough data.
  var isIdle: Bool { idleSteps > Self.maximumIdleSteps }

  /// Subtracts `stepsPerRecord` after a record of data.
  mutating func paid() { idleSteps = max(0, idleSteps - Self.stepsPerRecord) }

  /// Resets the count after the handshake, whose own steps do not count.
  mutating func beginsToCount() { idleSteps = 0 }

  /// Forgets the buffers, which are valid only during one call.
  mutating func close() {
    (input, inputCount, output) = (nil, 0, nil)
  }

  /// Makes a context count the steps of its sessions (`SSL_CTX_set_info_callback`).
  static func countSteps(of context: OpaquePointer) {
    SSL_CTX_set_info_callback(context) { session, event, _ in
      guard event & (SSL_CB_LOOP | SSL_CB_ALERT) != 0 else { return }
      SessionPort.port(of: SSL_get_rbio(session))?.pointee.idleSteps += 1
    }
  }

  /// Makes a BIO that reads and writes through a port (`BIO_new`). The port must outlive the BIO.
  static func makeBIO(over port: UnsafeMutablePointer<SessionPort>) -> OpaquePointer? {
    guard let bio = BIO_new(Method.shared.handle) else { return nil }
    BIO_set_data(bio, port)
    return bio
  }

  /// The `BIO_METHOD` of all ports, made once per process and never freed.
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
      // A session only ever requests a flush, which needs no work here.
      BIO_meth_set_ctrl(handle) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    }
  }

  private typealias Read =
    @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>?) -> Int32
  private typealias Write =
    @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int, UnsafeMutablePointer<Int>?) -> Int32

  /// Passes input to OpenSSL, or sets the retry flags if there is none.
  private static let read: Read = { bio, buffer, room, count in
    BIO_clear_flags(bio, retryFlags)
    guard let port = port(of: bio), port.pointee.inputCount > 0, let input = port.pointee.input, let buffer
    else {
      BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
      return 0
    }
    // Neither data nor a retry flag: the session fails.
    guard !port.pointee.isIdle else { return 0 }
    let taken = min(room, port.pointee.inputCount, pieceSize)
    UnsafeMutableRawPointer(buffer).copyMemory(from: input, byteCount: taken)
    port.pointee.input = input + taken
    port.pointee.inputCount -= taken
    count?.pointee = taken
    return 1
  }

  /// Accepts all output.
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
