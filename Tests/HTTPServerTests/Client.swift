// A client for the server's tests that sends exactly the bytes it is given.

import Glibc
import Platform

/// A client that sends exactly what it is told to, and parses just enough to tell responses apart.
final class Client {
  struct Failure: Error, CustomStringConvertible { let description: String }

  struct Answer: Equatable {
    var status: Int
    var fields: [String: String]
    var content: String
  }

  private let socket: StreamSocket
  private var received: [UInt8] = []
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  private(set) var isEnded = false
  private(set) var isReset = false

  init(_ address: SocketAddress) throws { socket = try StreamSocket(connectedTo: address) }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  func send(_ octets: [UInt8]) throws {
    var offset = 0
    while offset < octets.count {
      switch socket.send(octets, from: offset) {
      case .bytes(let count): offset += count
      case .wouldBlock: try wait(POLLOUT)
      case .failed(let error): throw error
      }
    }
  }

  /// Sends until the buffers are full because nobody reads. Returns the number of bytes sent.
  func sendUntilBlocked(_ octets: [UInt8], attempts: Int) -> Int {
    var count = 0
    for _ in 0..<attempts {
      switch socket.send(octets) {
      case .bytes(let sent): count += sent
      default: return count
      }
    }
    return count
  }

  func finish() { socket.finishWriting() }
  func resetOnClose() { socket.resetOnClose() }

  private func wait(_ events: Int32, milliseconds: Int32 = 10_000) throws {
    var entry = pollfd(fd: socket.descriptor.number, events: Int16(events), revents: 0)
    guard poll(&entry, 1, milliseconds) == 1 else { throw Failure(description: "the server keeps silent") }
  }

  /// Reads once, and waits for bytes if there are none.
  func read() throws {
    try wait(POLLIN)
    switch socket.receive(into: &buffer) {
    case .bytes(0): isEnded = true
    case .bytes(let count): received += buffer[..<count]
    case .wouldBlock: break
    case .failed:
      isEnded = true
      isReset = true
    }
  }

  /// Whether bytes have arrived or arrive within some milliseconds. For showing that nothing does.
  func hears(within milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: socket.descriptor.number, events: Int16(POLLIN), revents: 0)
    return !received.isEmpty || poll(&entry, 1, milliseconds) != 0
  }

  /// Waits until the connection has ended and saves what has arrived, without blocking the test's thread.
  func end() async throws {
    while !isEnded {
      if hearsNow { try read() } else { await Task.yield() }
    }
  }

  private var hearsNow: Bool {
    var entry = pollfd(fd: socket.descriptor.number, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 1
  }

  /// Everything up to the end of the connection.
  func readToEnd() throws -> String {
    while !isEnded { try read() }
    defer { received = [] }
    return String(decoding: received, as: UTF8.self)
  }

  /// Like `readToEnd`, as bytes.
  func octetsToEnd() throws -> [UInt8] {
    while !isEnded { try read() }
    defer { received = [] }
    return received
  }

  /// One response. Interim responses count, too.
  func answer(toHead isHead: Bool = false) throws -> Answer {
    while true {
      if let answer = parse(isHead) { return answer }
      guard !isEnded else {
        throw Failure(description: "ended after \(String(decoding: received, as: UTF8.self))")
      }
      try read()
    }
  }

  private func parse(_ isHead: Bool) -> Answer? {
    let text = String(decoding: received, as: UTF8.self)
    guard let end = text.range(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].split(separator: "\r\n")
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      fields[parts[0].lowercased()] = parts[1].drop { $0 == " " }.description
    }
    let length = isHead ? 0 : Int(fields["content-length"] ?? "0") ?? 0
    let rest = text[end.upperBound...].utf8
    guard rest.count >= length else { return nil }
    let content = String(decoding: rest.prefix(length), as: UTF8.self)
    received = Array(rest.dropFirst(length))
    return Answer(status: Int(lines[0].split(separator: " ")[1]) ?? 0, fields: fields, content: content)
  }
}

extension String {
  /// The first occurrence of a text, without Foundation.
  fileprivate func range(of text: String) -> Range<String.Index>? {
    let octets = Array(utf8)
    let wanted = Array(text.utf8)
    guard octets.count >= wanted.count else { return nil }
    for i in 0...(octets.count - wanted.count) where octets[i..<(i + wanted.count)].elementsEqual(wanted) {
      let start = utf8.index(startIndex, offsetBy: i)
      return start..<utf8.index(start, offsetBy: wanted.count)
    }
    return nil
  }
}
