// One accepted connection of a scripted upstream, in clear text or TLS.

import COpenSSL
import Glibc

/// One accepted connection, for a script: blocking reads and writes, in clear text or over TLS. Used by one
/// thread.
final class RawConnection {
  struct Closed: Error {}

  let fd: Int32
  /// 1 for the first connection the upstream accepted.
  let index: Int
  /// Whether the connection ends without TLS's closing message.
  var endsAbruptly = false
  private let upstream: RawUpstream
  private var ssl: OpaquePointer?
  private var buffer: [UInt8] = []

  init(fd: Int32, index: Int, upstream: RawUpstream) {
    self.fd = fd
    self.index = index
    self.upstream = upstream
    var isOn: Int32 = 1
    setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Performs the server's side of a TLS handshake. Everything after it is encrypted.
  func startTLS(_ context: TLSContext) throws {
    ssl = SSL_new(context.pointer)
    SSL_set_fd(ssl, fd)
    guard SSL_accept(ssl) == 1 else { throw Closed() }
  }

  /// Whether the handshake resumed a session.
  var resumesSession: Bool { ssl.map { SSL_session_reused($0) == 1 } ?? false }

  /// Reads one request with its content, and counts it; nil if the other side closed before a request began.
  func readRequest() throws -> RawRequest? {
    var end = headEnd()
    while end == nil {
      guard try fill() else {
        guard buffer.isEmpty else { throw Closed() }
        return nil
      }
      end = headEnd()
    }
    guard let end else { return nil }
    let head = String(decoding: buffer[..<end], as: UTF8.self)
    buffer.removeFirst(end)
    var request = RawRequest(head: head, content: [])
    let length = request.field("Content-Length").flatMap { Int($0) } ?? 0
    while buffer.count < length { guard try fill() else { throw Closed() } }
    request.content = Array(buffer.prefix(length))
    buffer.removeFirst(length)
    upstream.arrived(head)
    return request
  }

  /// Sends the same response to every request until the other side closes.
  func answerAll(_ answer: String) throws {
    while try readRequest() != nil { try write(answer) }
  }

  func write(_ text: String) throws { try write(Array(text.utf8)) }

  func write(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { bytes in
        if let ssl { return Int(SSL_write(ssl, bytes.baseAddress, Int32(bytes.count))) }
        return send(fd, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Closed() }
      rest = rest.dropFirst(count)
    }
  }

  /// Hangs: returns when the other side has closed.
  func waitForClose() throws { while try fill() { buffer = [] } }

  /// Hangs without reading: returns when the other side has closed or reset the connection.
  func waitForOther() throws {
    // POLLRDHUP, which poll.h shows to GNU programs only.
    var entry = pollfd(fd: fd, events: 0x2000, revents: 0)
    poll(&entry, 1, -1)
  }

  /// Lets time pass: what a slow upstream does.
  func pause(milliseconds: UInt32) { usleep(milliseconds * 1000) }

  /// Closes with a reset instead of an orderly end.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  /// Reads available bytes, and waits for some if there are none; nil at the end.
  func read() throws -> [UInt8]? {
    guard try fill() else { return nil }
    defer { buffer = [] }
    return buffer
  }

  /// Forwards bytes both ways between this connection and a loopback port until one side ends.
  func tunnel(to port: Int) throws {
    let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(other) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = in_port_t(port).bigEndian
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        connect(other, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { throw Closed() }
    while true {
      var entries = [fd, other].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&entries, 2, -1) > 0 else { throw Closed() }
      if entries[0].revents != 0 {
        guard let bytes = try read(), send(other, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        else {
          return
        }
      }
      if entries[1].revents != 0 {
        var piece = [UInt8](repeating: 0, count: 16384)
        let count = recv(other, &piece, piece.count, 0)
        guard count > 0 else { return }
        try write(Array(piece[..<count]))
      }
    }
  }

  func end() {
    if let ssl {
      if !endsAbruptly { SSL_shutdown(ssl) }
      SSL_free(ssl)
    }
    close(fd)
  }

  private func fill() throws -> Bool {
    var piece = [UInt8](repeating: 0, count: 65536)
    let count = piece.withUnsafeMutableBytes { bytes in
      if let ssl { return Int(SSL_read(ssl, bytes.baseAddress, Int32(bytes.count))) }
      return recv(fd, bytes.baseAddress, bytes.count, 0)
    }
    guard count > 0 else { return false }
    buffer += piece[..<count]
    return true
  }

  private func headEnd() -> Int? {
    let mark = Array("\r\n\r\n".utf8)
    guard buffer.count >= 4 else { return nil }
    return (0...(buffer.count - 4)).first { buffer[$0..<($0 + 4)].elementsEqual(mark) }.map { $0 + 4 }
  }
}

/// A request as it arrived.
struct RawRequest {
  /// Request line and fields with their line ends.
  let head: String
  var content: [UInt8]

  var requestLine: String { lines.first ?? "" }

  /// The first field with a name.
  func field(_ name: String) -> String? {
    for line in lines.dropFirst() where line.lowercased().hasPrefix(name.lowercased() + ":") {
      return String(line.dropFirst(name.count + 1).drop { $0 == " " })
    }
    return nil
  }

  /// The names of all fields, in lower case, sorted.
  var fieldNames: [String] { lines.dropFirst().map { String($0.prefix { $0 != ":" }).lowercased() }.sorted() }

  private var lines: [String] { head.split(separator: "\r\n").map(String.init) }
}
