// Notices when a file of the configuration changes.

import Configuration
import Dispatch
import Synchronization

/// Looks at files once in a while. A change counts once the files have stayed the same between two looks, so that a
/// file that is still being written is not read.
final class FileWatch: Sendable {
  private struct State {
    /// What was loaded, or tried.
    var known: [String: FileStamp]
    /// What the last look saw.
    var seen: [String: FileStamp]?
    var timer: (any DispatchSourceTimer)?
  }

  /// How often the timer looks: a change is noticed within two looks.
  static let interval = DispatchTimeInterval.milliseconds(500)

  private let state: Mutex<State>
  private let look: @Sendable (String) -> FileStamp

  /// Makes a watch.
  /// - Parameters:
  ///   - files: The files and what was read of them.
  ///   - look: How a file is looked at.
  init(_ files: [String: FileStamp], look: @escaping @Sendable (String) -> FileStamp = FileStamp.init(path:))
  {
    state = Mutex(State(known: files))
    self.look = look
  }

  /// Takes over what a reload has read: all of it where that serves now, otherwise also the files that only the
  /// failed one names, because a change of one of them may mend it.
  func note(_ files: [String: FileStamp], serves: Bool) {
    state.withLock { state in
      if serves {
        state.known = files
      } else {
        state.known.merge(files) { known, _ in known }
      }
      state.seen = nil
    }
  }

  /// Looks once.
  /// - Returns: Whether there is a change to read. It is reported once.
  func poll() -> Bool {
    let paths = state.withLock { Array($0.known.keys) }
    // Looking can take time on a network's file system; nobody waits for it.
    let stamps = Dictionary(uniqueKeysWithValues: paths.map { ($0, look($0)) })
    return state.withLock { state in
      guard state.known.count == stamps.count else { return false }
      defer { state.seen = stamps }
      guard stamps != state.known, stamps == state.seen else { return false }
      state.known = stamps
      return true
    }
  }

  /// Begins to look, and to call a function on a queue of its own when there is a change.
  func start(_ changed: @escaping @Sendable () -> Void) {
    state.withLock { state in
      let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "callgate.watch"))
      timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(100))
      timer.setEventHandler { @Sendable [weak self] in
        if self?.poll() == true { changed() }
      }
      timer.resume()
      state.timer = timer
    }
  }

  /// Looks no more.
  func stop() {
    state.withLock { state in
      state.timer?.cancel()
      state.timer = nil
    }
  }
}
