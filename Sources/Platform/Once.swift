// Passes a noncopyable value to a closure that runs once.

import Synchronization

/// A value for a closure that runs once. A closure cannot consume a captured value, because the compiler
/// cannot know that it runs once. This class checks that at run time.
public final class Once<Value: ~Copyable & Sendable>: Sendable {
  private let value: Mutex<Value?>

  public init(_ value: consuming Value) { self.value = Mutex(consume value) }

  /// The value. A second call traps.
  public func take() -> Value {
    guard let taken = value.withLock({ $0.take() }) else { preconditionFailure("taken twice") }
    return taken
  }
}
