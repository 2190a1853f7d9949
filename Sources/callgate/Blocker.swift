// Blocks the main thread until asynchronous work has finished.

import Dispatch
import Synchronization

/// Blocks the main thread, which has nothing else to do, until asynchronous work has finished.
final class Blocker: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  /// Waits until `open` is called.
  func wait() { semaphore.wait() }

  /// Lets `wait` return.
  func open() { semaphore.signal() }

  /// Runs an asynchronous function and returns its result.
  static func run<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Result {
    let blocker = Blocker()
    let box = Box<Result>()
    // Detached, so that the task does not wait for the thread that waits for it.
    Task.detached {
      let result = await body()
      box.value.withLock { $0 = result }
      blocker.open()
    }
    blocker.wait()
    guard let result = box.value.withLock({ $0 }) else { preconditionFailure("opened without a result") }
    return result
  }

  private final class Box<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
  }
}
