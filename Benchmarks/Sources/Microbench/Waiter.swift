// Blocks a thread until another thread or task hands over a result.

import Dispatch
import Synchronization

/// A result that one thread waits for.
final class Waiter<Value: Sendable>: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private let value = Mutex<Result<Value, any Error>?>(nil)

  /// Lets `result` return.
  func end(_ result: Result<Value, any Error>) {
    value.withLock { $0 = result }
    semaphore.signal()
  }

  /// Waits for the end.
  func result() throws -> Value {
    semaphore.wait()
    guard let result = value.withLock({ $0 }) else { preconditionFailure("ended without a result") }
    return try result.get()
  }
}
