// Asynchronous work of which one piece runs at a time.

internal import Synchronization

/// Runs pieces of work one after the other, in the order of their coming. A piece must not wait for another one.
final class OneAtATime: Sendable {
  private struct State: Sendable {
    var isRunning = false
    var waiting: [UnsafeContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// Runs a piece of work when those before it have ended.
  func run(_ body: () async throws(StoreError) -> Void) async throws(StoreError) {
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      let isFirst = state.withLock { state in
        guard state.isRunning else {
          state.isRunning = true
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFirst { continuation.resume() }
    }
    defer { next()?.resume() }
    try await body()
  }

  private func next() -> UnsafeContinuation<Void, Never>? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.isRunning = false
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}
