// Bounds what all connections together hold for clients that do not read.

import Platform
import Synchronization

/// The octets that connections hold for clients which do not read, over all loops of a server. Beyond the limit, the connection without
/// progress for longest is closed.
///
/// Connections that hold nothing never come here: a response that its client reads takes no lock.
final class UnsentBudget: Sendable {
  private struct Name: Hashable {
    let worker: ObjectIdentifier
    let token: EventToken
  }

  private struct Holding {
    let worker: Worker
    var octets: Int
    /// When its client last read something; the first time, when it began to wait.
    var progressAt: MonotonicTime
  }

  private struct State {
    var holdings: [Name: Holding] = [:]
    var sum = 0

    mutating func remove(_ name: Name) { sum -= holdings.removeValue(forKey: name)?.octets ?? 0 }
  }

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: The most octets.
  init(limit: Int) { self.limit = limit }

  /// How many octets are held.
  var octets: Int { state.withLock { $0.sum } }

  /// Notes what a connection holds, on its loop, and closes connections beyond the limit: those of this loop at once, others on theirs.
  ///
  /// - Parameters:
  ///   - octets: All that it holds now.
  ///   - progressAt: When its client read something just now; nil if it did not.
  func hold(_ octets: Int, _ token: EventToken, of worker: Worker, progressAt: MonotonicTime?) {
    let name = Name(worker: ObjectIdentifier(worker), token: token)
    let closing = state.withLock { state -> [(Worker, EventToken)] in
      let since = progressAt ?? state.holdings[name]?.progressAt ?? worker.loop.now
      state.remove(name)
      if octets > 0 { state.holdings[name] = Holding(worker: worker, octets: octets, progressAt: since) }
      state.sum += octets
      var closing: [(Worker, EventToken)] = []
      while state.sum > limit,
        let oldest = state.holdings.min(by: { $0.value.progressAt < $1.value.progressAt })
      {
        state.remove(oldest.key)
        closing.append((oldest.value.worker, oldest.key.token))
      }
      return closing
    }
    for (other, token) in closing {
      if other === worker {
        other.connection(token)?.closeUnread()
      } else {
        other.loop.execute { other.connection(token)?.closeUnread() }
      }
    }
  }

  /// The connection has closed.
  func forget(_ token: EventToken, of worker: Worker) {
    state.withLock { $0.remove(Name(worker: ObjectIdentifier(worker), token: token)) }
  }
}
