// Pauses the download of a response while its reader is busy, so that the sender waits.

import Synchronization

/// A switch with which the reader of a response pauses its content. A reader that is slower than the network
/// then needs no memory for content that came too early. Any thread may call its functions.
public final class ContentHold: Sendable {
  private struct State {
    var isHeld = false
    var onRelease: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  public init() {}

  /// Whether the content is paused. A transport checks this before it delivers a piece.
  public var isHeld: Bool { state.withLock { $0.isHeld } }

  /// Pauses the content until `release`.
  public func hold() { state.withLock { $0.isHeld = true } }

  /// Resumes the content. Does nothing if it is not paused.
  public func release() {
    let onRelease = state.withLock { state in
      defer { state.isHeld = false }
      return state.isHeld ? state.onRelease : nil
    }
    onRelease?()
  }

  /// Sets the function that `release` calls when it ends a pause, in place of an earlier function. For
  /// transports.
  public func onRelease(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onRelease = body } }
}
