// Passes on the calls of a report while it downloads, and pauses the download while many calls wait.

import Gate
import HTTP
import Platform
import Store
import Synchronization

/// The queue between the transport's thread and the task that matches the calls of one report.
final class ReportFeed: Sendable {
  /// The number of waiting calls at which the download pauses. The last piece before the pause may add some
  /// more.
  static let most = 256

  private struct State {
    var entries: ReportEntries
    var fault: ReportEntries.Fault?
    var count = 0
    /// Calls that were passed on and are not matched yet.
    var waiting = 0
  }

  /// The calls, as they arrive.
  let calls: AsyncStream<[EndedCall]>
  /// Pauses the download.
  let hold = ContentHold()
  private let queue: AsyncStream<[EndedCall]>.Continuation
  private let settings: OutcomeSettings
  private let now: Instant
  private let state: Mutex<State>

  /// - Parameters:
  ///   - now: The current time, to ignore calls that started too long ago.
  ///   - most: The maximum size of the report, in octets.
  init(_ settings: OutcomeSettings, at now: Instant, most: Int) {
    self.settings = settings
    self.now = now
    state = Mutex(State(entries: ReportEntries(most: most)))
    (calls, queue) = AsyncStream.makeStream()
  }

  /// The number of entries so far.
  var count: Int { state.withLock { $0.count } }
  /// The reason why the rest of the report cannot be read; nil if it can be.
  var fault: ReportEntries.Fault? { state.withLock { $0.fault } }
  /// Whether the report is complete.
  var isWhole: Bool { state.withLock { $0.entries.isWhole } }
  /// The number of waiting calls.
  var waiting: Int { state.withLock { $0.waiting } }

  /// Reads octets, on the transport's thread. Returns false to end the download.
  func take(_ bytes: [UInt8]) -> Bool {
    state.withLock { state in
      do throws(ReportEntries.Fault) {
        let entries = try state.entries.take(bytes)
        state.count = state.count.addingClamped(entries.count)
        let found = entries.compactMap { CallEvent.reported($0, by: settings, at: now) }
        guard !found.isEmpty else { return true }
        state.waiting = state.waiting.addingClamped(found.count)
        if state.waiting >= Self.most { hold.hold() }
        queue.yield(found)
        return true
      } catch {
        state.fault = error
        return false
      }
    }
  }

  /// Subtracts matched calls from the waiting ones, and resumes the download if few are left.
  func matched(_ count: Int) {
    state.withLock { state in
      state.waiting = state.waiting.subtractingClamped(count)
      if state.waiting < Self.most / 2 { hold.release() }
    }
  }

  /// Ends `calls`, because no more octets arrive.
  func end() { queue.finish() }
}
