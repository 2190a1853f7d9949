// A fake upstream server that does exactly what a test's script says.

import Dispatch
import Glibc
import Synchronization
import TestSupport

/// What an upstream does with a connection.
struct Script: Sendable {
  let run: @Sendable (RawConnection) throws -> Void

  init(_ run: @escaping @Sendable (RawConnection) throws -> Void) { self.run = run }
}

/// A server on a loopback port that does exactly what a test's script says, byte by byte: each connection
/// runs the script once, on its own thread. Counts connections and requests.
final class RawUpstream: Sendable {
  struct Failure: Error {
    let call: String
    let errno: Int32
  }

  private struct State {
    var connections = 0
    var heads: [String] = []
    var ends = 0
    var open: Set<Int32> = []
    var isStopped = false
  }

  let port: Int
  private let listener: Int32
  private let state = Mutex(State())
  private let threads = DispatchGroup()

  /// Listens on 127.0.0.1 and runs the script for each connection.
  init(_ script: Script) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard listener >= 0 else { throw Failure(call: "socket", errno: errno) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let fd = listener
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(fd, pointer, length) == 0 && listen(fd, 1024) == 0 && getsockname(fd, pointer, &length) == 0
      }
    }
    guard bound else { throw Failure(call: "bind", errno: errno) }
    port = Int(UInt16(bigEndian: address.sin_port))
    DispatchQueue(label: "raw upstream").async(group: threads) { [self] in
      while true {
        let fd = accept(listener, nil, nil)
        guard fd >= 0 else { return }
        let index = state.withLock { state -> Int? in
          guard !state.isStopped else { return nil }
          state.connections += 1
          state.open.insert(fd)
          return state.connections
        }
        guard let index else {
          close(fd)
          return
        }
        serve(fd, index, script)
      }
    }
  }

  /// How many connections were accepted.
  var connections: Int { state.withLock { $0.connections } }
  /// The heads of the requests that arrived whole, in order.
  var heads: [String] { state.withLock { $0.heads } }
  /// How many requests arrived whole.
  var arrivals: Int { heads.count }

  /// Returns when `count` requests have arrived.
  func waitForArrivals(_ count: Int) async throws { try await eventually { self.arrivals >= count } }

  /// Returns when `count` scripts have run and their connections are closed.
  func waitForEnds(_ count: Int) async throws {
    try await eventually { self.state.withLock { $0.ends } >= count }
  }

  /// Ends every connection and thread.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      for fd in state.open { shutdown(fd, Int32(SHUT_RDWR)) }
    }
    shutdown(listener, Int32(SHUT_RDWR))
    threads.wait()
    close(listener)
  }

  func arrived(_ head: String) { state.withLock { $0.heads.append(head) } }

  private func serve(_ fd: Int32, _ index: Int, _ script: Script) {
    DispatchQueue(label: "raw connection").async(group: threads) { [self] in
      let connection = RawConnection(fd: fd, index: index, upstream: self)
      // A script's error means that the other side went away, which many tests want.
      do { try script.run(connection) } catch {}
      state.withLock { _ = $0.open.remove(fd) }
      connection.end()
      state.withLock { $0.ends += 1 }
    }
  }
}

/// Runs a test's body with an upstream, and stops the upstream afterwards.
func withUpstream<Result>(
  _ script: Script, _ body: (RawUpstream) async throws -> Result
) async throws -> Result {
  let upstream = try RawUpstream(script)
  defer { upstream.stop() }
  return try await body(upstream)
}
