// Notices when a file of the configuration changes.

package import Configuration
import Dispatch
import Synchronization

/// Looks at files once in a while. A change counts once the files have stayed the same between two looks, so that a
/// file that is still being written is not read.
package final class FileWatch: Sendable {
  private struct State {
    /// The files as the last load read them, even if it failed.
    var known: [String: FileStamp]
    /// The files at the last look.
    var seen: [String: FileStamp]?
    var timer: (any DispatchSourceTimer)?
  }

  /// How often the timer looks. It needs two equal looks to notice a change.
  static let interval = DispatchTimeInterval.milliseconds(500)

  private let state: Mutex<State>
  private let look: @Sendable (String) -> FileStamp

  /// Makes a watch.
  ///
  /// - Parameters:
  ///   - files: The files as they were read.
  ///   - look: Reads the stamp of a file.
  package init(
    _ files: [String: FileStamp], look: @escaping @Sendable (String) -> FileStamp = FileStamp.init(path:)
  ) {
    state = Mutex(State(known: files))
    self.look = look
  }

  /// Takes over the files of a reload. A failed reload adds the files that only it names, because a change of
  /// one of them may fix it.
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
    // A look can be slow on a network file system. No request waits for it.
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
  package func start(_ changed: @escaping @Sendable () -> Void) {
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
  package func stop() {
    state.withLock { state in
      state.timer?.cancel()
      state.timer = nil
    }
  }
}
