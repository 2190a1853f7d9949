// Runs asynchronous pieces of work one at a time, in order.

import Synchronization

/// Runs pieces of work one after the other, in the order in which they were announced. A piece must not wait
/// for another piece.
final class OneAtATime: Sendable {
  private struct State: Sendable {
    var announced = 0
    /// The number of the piece that runs, or that runs next.
    var current = 1
    var waiting: [Int: UnsafeContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// Announces a piece of work. The caller must then run it, because later pieces wait for it.
  ///
  /// - Returns: The number of the piece. Later pieces have greater numbers.
  func announce() -> Int {
    state.withLock { state in
      state.announced += 1
      return state.announced
    }
  }

  /// Runs an announced piece of work when those before it have ended.
  func run(_ number: Int, _ body: () async throws(StoreError) -> Void) async throws(StoreError) {
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      let isNext = state.withLock { state in
        if state.current == number { return true }
        state.waiting[number] = continuation
        return false
      }
      if isNext { continuation.resume() }
    }
    defer { next()?.resume() }
    try await body()
  }

  private func next() -> UnsafeContinuation<Void, Never>? {
    state.withLock { state in
      state.current += 1
      return state.waiting.removeValue(forKey: state.current)
    }
  }
}
