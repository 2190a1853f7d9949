// A client on a plain socket that shows tests exactly what the emulator sends.

import Dispatch
import Glibc
import HTTP
import JSON

/// A client on a plain socket, which sees exactly what the emulator sends, including a connection closed
/// without a response, and never retries.
struct LoopbackClient {
  struct Answer {
    var status: Int
    var fields: Fields
    var content: String

    var json: JSONValue {
      get throws { try JSONValue(parsing: Array(content.utf8)) }
    }
  }

  enum Failure: Error {
    case socket(String, Int32)
    case malformed(String)
  }

  let port: UInt16

  /// Sends one request and reads to the end of the connection; nil if nothing arrived.
  func send(
    _ method: String, _ path: String, fields: [(String, String)] = [], content: String = ""
  ) async throws -> Answer? {
    var text = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
    for (name, value) in fields { text += "\(name): \(value)\r\n" }
    if !content.isEmpty || method == "POST" { text += "Content-Length: \(content.utf8.count)\r\n" }
    let request = Array((text + "\r\n" + content).utf8)
    let port = port
    // Blocking calls must not use the few threads that run tasks: the emulator needs one of them to respond
    // late.
    let answer: [UInt8] = try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(with: Result { try Self.exchange(request, port: port) })
      }
    }
    return try answer.isEmpty ? nil : Self.parse(answer)
  }

  private static func exchange(_ request: [UInt8], port: UInt16) throws -> [UInt8] {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw Failure.socket("socket", errno) }
    defer { close(descriptor) }
    // With a limit, a bug makes the test fail instead of hang.
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Failure.socket("connect", errno) }
    var sent = 0
    while sent < request.count {
      let count = request[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure.socket("send", errno) }
      sent += count
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count >= 0 else { throw Failure.socket("recv", errno) }
      if count == 0 { return answer }
      answer += buffer[..<count]
    }
  }

  private static func parse(_ octets: [UInt8]) throws -> Answer {
    let text = String(decoding: octets, as: UTF8.self)
    guard let end = text.firstRange(of: "\r\n\r\n") else { throw Failure.malformed(text) }
    let lines = text[..<end.lowerBound].split(separator: "\r\n")
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    guard let status else { throw Failure.malformed(text) }
    var fields = Fields()
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { throw Failure.malformed(text) }
      fields.append(String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
    }
    return Answer(status: status, fields: fields, content: String(text[end.upperBound...]))
  }
}
