// Limits the memory of all connections for clients that do not read, or that do not finish their requests.

import Platform
import Synchronization

/// A limit on the memory that all connections of a server together hold for their clients. Beyond the
/// limit, the connection that has made no progress for longest is closed.
///
/// Connections that hold nothing do not use the budget: a request that arrives whole, and a response that its
/// client reads, take no lock.
final class OctetBudget: Sendable {
  private struct Name: Hashable {
    let worker: ObjectIdentifier
    let token: EventToken
  }

  private struct Holding {
    let worker: Worker
    var octets: Int
    /// The number of the connection's last progress. Later progress has a larger number.
    var turn: UInt64
  }

  private struct State {
    var holdings: [Name: Holding] = [:]
    var sum = 0
    var turn: UInt64 = 0
    /// The progress of all connections, oldest first, from the index `oldest` on. Only the last entry of a
    /// connection counts.
    var progress: [(name: Name, turn: UInt64)] = []
    var oldest = 0

    /// Whether more than half the limit was held since the sum last fell to a sixteenth of the limit.
    var hasPeaked = false
    /// The octets of connections closed for the limit. Starts again at 0 when it exceeds half the limit.
    var closed = 0

    /// Whether much memory was freed: much was held and nearly nothing is left, or many connections were
    /// closed for the limit.
    mutating func isRelieved(_ limit: Int) -> Bool {
      // During a flood, freed blocks lie between blocks still in use, and the allocator keeps them.
      if closed > limit / 2 {
        closed = 0
        return true
      }
      if sum > limit / 2 { hasPeaked = true }
      guard hasPeaked, sum <= limit / 16 else { return false }
      hasPeaked = false
      return true
    }

    mutating func remove(_ name: Name) { sum -= holdings.removeValue(forKey: name)?.octets ?? 0 }

    mutating func hold(_ octets: Int, _ name: Name, of worker: Worker, isProgress: Bool) {
      guard octets > 0 else { return remove(name) }
      var holding = holdings[name] ?? Holding(worker: worker, octets: 0, turn: 0)
      sum += octets - holding.octets
      holding.octets = octets
      if isProgress || holding.turn == 0 {
        turn += 1
        holding.turn = turn
        forgetOutdated()
        progress.append((name, turn))
      }
      holdings[name] = holding
    }

    /// Drops the entries that no longer count, once they outnumber the others.
    private mutating func forgetOutdated() {
      guard progress.count > 2 * holdings.count + 64 else { return }
      progress = progress[oldest...].filter { holdings[$0.name]?.turn == $0.turn }
      oldest = 0
    }

    /// Removes and returns the connection that has made no progress for longest.
    mutating func removeOldest() -> (worker: Worker, token: EventToken)? {
      while oldest < progress.count {
        let (name, turn) = progress[oldest]
        oldest += 1
        guard let holding = holdings[name], holding.turn == turn else { continue }
        remove(name)
        closed += holding.octets
        return (holding.worker, name.token)
      }
      return nil
    }
  }

  private let limit: Int
  private let close: @Sendable (Connection) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - limit: The maximum number of octets that all connections hold.
  ///   - close: Closes a connection, on its loop.
  init(limit: Int, close: @escaping @Sendable (Connection) -> Void) {
    self.limit = limit
    self.close = close
  }

  /// The number of octets that all connections together hold.
  var octets: Int { state.withLock { $0.sum } }

  /// Records what a connection holds; call it on the connection's loop. Closes connections beyond the limit:
  /// those of this loop at once, others on their own loops.
  ///
  /// - Parameters:
  ///   - octets: The number of octets that the connection holds now.
  ///   - isProgress: Whether its client sent or read something just now.
  func hold(_ octets: Int, _ token: EventToken, of worker: Worker, isProgress: Bool) {
    let name = Name(worker: ObjectIdentifier(worker), token: token)
    let (closing, isRelieved) = state.withLock { state in
      state.hold(octets, name, of: worker, isProgress: isProgress)
      var closing: [(worker: Worker, token: EventToken)] = []
      while state.sum > limit, let oldest = state.removeOldest() { closing.append(oldest) }
      return (closing, state.isRelieved(limit))
    }
    if isRelieved { Self.returnMemory() }
    for (other, token) in closing {
      if other === worker {
        other.connection(token).map(close)
      } else {
        other.loop.execute { [close] in other.connection(token).map(close) }
      }
    }
  }

  /// Removes a connection that has closed.
  func forget(_ token: EventToken, of worker: Worker) {
    let isRelieved = state.withLock { state in
      state.remove(Name(worker: ObjectIdentifier(worker), token: token))
      return state.isRelieved(limit)
    }
    if isRelieved { Self.returnMemory() }
  }

  /// Returns free memory to the system. After a flood, the allocator has megabytes of free blocks, which
  /// count toward the memory limit of a container.
  private static func returnMemory() { Task.detached { ProcessSetup.returnFreeBlocks() } }
}
