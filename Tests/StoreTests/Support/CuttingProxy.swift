// A proxy to a PostgreSQL server that can cut the connection between a COMMIT and its answer.

import DatabaseURL
import Foundation
import Glibc
import PostgresStore
import Store
import Synchronization

/// Forwards bytes between its own loopback port and a server, and cuts connections at a COMMIT when told to.
final class CuttingProxy: Sendable {
  /// What happens to a connection whose client sends a COMMIT.
  enum Cut: Sendable {
    /// The COMMIT is forwarded, and after the server's answer the client's side breaks.
    case afterCommit
    /// The client's side breaks, and the server gets the COMMIT when the test says so, or never.
    case beforeCommit
  }

  private struct State {
    var cuts: [Cut] = []
    /// Whether the next cut also closes all other connections and refuses new ones.
    var thenRefuses = false
    var isRefusing = false
    var count = 0
    /// Whether held COMMITs are forwarded or dropped with their connections; nil while they wait.
    var verdict: Bool?
    var held = 0
    var isClosed = false
  }

  let port: Int
  private let target: Int
  private let listener: Int32
  private let state = Mutex(State())

  /// A proxy in front of a server on loopback.
  init(to target: Int) throws {
    self.target = target
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = Self.loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw PostgresServer.Failure(description: "no proxy: \(errno)") }
    listener = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
    Self.thread { self.accept() }
  }

  /// The address of a database behind the proxy.
  func address(_ name: String) throws -> PostgresAddress {
    try PostgresAddress("postgres://callgate:secret@127.0.0.1:\(port)/\(name)?sslmode=disable")
  }

  /// Cuts the next connections that commit, one per element.
  /// - Parameter refuses: whether all connections are refused from the first cut on, until `refuse(false)`.
  func cut(_ cuts: [Cut], thenRefuses refuses: Bool = false) {
    state.withLock { state in
      state.cuts = cuts
      state.thenRefuses = refuses
    }
  }

  /// Refuses all connections, or accepts them again.
  func refuse(_ isRefusing: Bool) { state.withLock { $0.isRefusing = isRefusing } }

  /// How many connections were cut.
  var count: Int { state.withLock { $0.count } }
  /// How many COMMITs are held.
  var held: Int { state.withLock { $0.held } }

  /// Forwards held COMMITs, or drops them.
  func release(passesOn: Bool) { state.withLock { $0.verdict = passesOn } }

  /// Closes the proxy and every connection through it.
  func close() {
    state.withLock { $0.isClosed = true }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  // MARK: Threads

  private func accept() {
    defer { _ = Glibc.close(listener) }
    while true {
      let client = Glibc.accept(listener, nil, nil)
      if state.withLock({ $0.isClosed }) || client < 0 { return }
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      if state.withLock({ $0.isRefusing }) {
        _ = Glibc.close(client)
        continue
      }
      Self.thread { self.pass(client) }
    }
  }

  /// Forwards bytes until either side ends or the connection is cut.
  private func pass(_ client: Int32) {
    defer { _ = Glibc.close(client) }
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { _ = Glibc.close(server) }
    var address = Self.loopback(target)
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else { return }
    // The end of the forwarded bytes: a COMMIT may arrive in two pieces.
    var tail: [UInt8] = []
    while true {
      var descriptors = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0),
        pollfd(fd: server, events: Int16(POLLIN), revents: 0),
      ]
      // Wakes every 20 ms, in case connections are to be refused.
      guard poll(&descriptors, 2, 20) >= 0 || errno == EINTR else { return }
      if state.withLock({ $0.isRefusing || $0.isClosed }) { return }
      if descriptors[1].revents != 0 {
        guard let bytes = Self.read(server), Self.write(client, bytes) else { return }
      }
      guard descriptors[0].revents != 0 else { continue }
      guard let bytes = Self.read(client) else { return }
      if Self.hasCommit(tail + bytes), let cut = nextCut() {
        return end(cut, bytes, client, server)
      }
      guard Self.write(server, bytes) else { return }
      tail = Array((tail + bytes).suffix(Self.commit.count - 1))
    }
  }

  private func nextCut() -> Cut? {
    state.withLock { state in
      guard !state.cuts.isEmpty else { return nil }
      state.isRefusing = state.isRefusing || state.thenRefuses
      state.count += 1
      return state.cuts.removeFirst()
    }
  }

  private func end(_ cut: Cut, _ bytes: [UInt8], _ client: Int32, _ server: Int32) {
    if cut == .beforeCommit {
      shutdown(client, Int32(SHUT_RDWR))
      state.withLock { $0.held += 1 }
      defer { state.withLock { $0.held -= 1 } }
      var verdict: Bool?
      while verdict == nil {
        usleep(2000)
        verdict = state.withLock { $0.isClosed ? false : $0.verdict }
      }
      guard verdict == true, Self.write(server, bytes) else { return }
      swallow(server)
    } else {
      guard Self.write(server, bytes) else { return }
      swallow(server)
      shutdown(client, Int32(SHUT_RDWR))
    }
  }

  /// Reads the response to its end: the server is ready, and not in a transaction.
  private func swallow(_ server: Int32) {
    var answer: [UInt8] = []
    while !answer.suffix(6).elementsEqual([0x5A, 0, 0, 0, 5, 0x49]) {
      guard let bytes = Self.read(server) else { return }
      answer += bytes
    }
  }

  // MARK: Bytes

  private static let commit = Array("COMMIT\0".utf8)

  private static func hasCommit(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= commit.count else { return false }
    return (0...(bytes.count - commit.count)).contains {
      bytes[$0] == commit[0] && bytes[$0..<($0 + commit.count)].elementsEqual(commit)
    }
  }

  private static func read(_ descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }

  private static func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  /// Runs on a thread of its own: these calls block, and tests need the pool.
  private static func thread(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    thread.start()
  }
}
