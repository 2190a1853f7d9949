// Detects changes to the files of the configuration.

package import Configuration
import Dispatch
import Synchronization

/// Polls files for changes. A change counts once two polls in a row see the same files, so that a file that
/// is still being written is not read.
package final class FileWatch: Sendable {
  private struct State {
    /// The files as a load last read them, or as a poll last reported them.
    var known: [String: FileStamp]
    /// The files at the last poll.
    var seen: [String: FileStamp]?
    var timer: (any DispatchSourceTimer)?
  }

  /// Time between polls. A change is noticed after two equal polls.
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

  /// Records the files of a reload. A failed reload adds the files that only it names, because a change to
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

  /// Polls once.
  /// - Returns: True if the files have changed and two polls in a row saw the same change. Each change is
  ///   reported once.
  func poll() -> Bool {
    let paths = state.withLock { Array($0.known.keys) }
    // A read can be slow on a network file system. No request waits for it.
    let stamps = Dictionary(uniqueKeysWithValues: paths.map { ($0, look($0)) })
    return state.withLock { state in
      guard state.known.count == stamps.count else { return false }
      defer { state.seen = stamps }
      guard stamps != state.known, stamps == state.seen else { return false }
      state.known = stamps
      return true
    }
  }

  /// Starts polling. Calls `changed` on its own queue when there is a change.
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

  package func stop() {
    state.withLock { state in
      state.timer?.cancel()
      state.timer = nil
    }
  }
}
