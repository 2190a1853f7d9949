// Lets the reader of a response's content hold it up, so that the other server waits.

import Synchronization

/// Holds up the content of a response: a reader that is slower than the network then needs no memory for what has come too early.
/// Any thread may call it.
public final class ContentHold: Sendable {
  private struct State {
    var isHeld = false
    var onRelease: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Holds nothing up yet.
  public init() {}

  /// Whether the content waits. A transport looks before it delivers a piece.
  public var isHeld: Bool { state.withLock { $0.isHeld } }

  /// No further piece comes until `release`.
  public func hold() { state.withLock { $0.isHeld = true } }

  /// Resumes the content. Does nothing if it is not paused.
  public func release() {
    let onRelease = state.withLock { state in
      defer { state.isHeld = false }
      return state.isHeld ? state.onRelease : nil
    }
    onRelease?()
  }

  /// For a transport: has each release call a function, in place of an earlier one.
  public func onRelease(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onRelease = body } }
}
