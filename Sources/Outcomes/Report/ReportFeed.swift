// Hands the calls of a report on as its octets arrive, and holds the octets up while many calls wait.

import Gate
import HTTP
import Platform
import Store
import Synchronization

/// The way from the transport's thread to the task that matches the calls of one report.
final class ReportFeed: Sendable {
  /// With so many calls waiting, no more octets are taken. The last piece before may bring some more.
  static let most = 256

  private struct State {
    var entries: ReportEntries
    var fault: ReportEntries.Fault?
    var count = 0
    /// How many calls were handed on and are not matched yet.
    var waiting = 0
  }

  /// The calls, as they come.
  let calls: AsyncStream<[EndedCall]>
  /// What holds the octets up.
  let hold = ContentHold()
  private let queue: AsyncStream<[EndedCall]>.Continuation
  private let settings: OutcomeSettings
  private let now: Instant
  private let state: Mutex<State>

  /// - Parameters:
  ///   - now: The time by which calls of long ago are ignored.
  ///   - most: How many octets are read.
  init(_ settings: OutcomeSettings, at now: Instant, most: Int) {
    self.settings = settings
    self.now = now
    state = Mutex(State(entries: ReportEntries(most: most)))
    (calls, queue) = AsyncStream.makeStream()
  }

  /// How many entries came.
  var count: Int { state.withLock { $0.count } }
  /// Why the report cannot be read on; nil if it can.
  var fault: ReportEntries.Fault? { state.withLock { $0.fault } }
  /// Whether it came whole.
  var isWhole: Bool { state.withLock { $0.entries.isWhole } }
  /// How many calls wait.
  var waiting: Int { state.withLock { $0.waiting } }

  /// Takes octets, on the transport's thread. False ends the report.
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

  /// Some calls are matched.
  func matched(_ count: Int) {
    state.withLock { state in
      state.waiting = state.waiting.subtractingClamped(count)
      if state.waiting < Self.most / 2 { hold.release() }
    }
  }

  /// No more octets come.
  func end() { queue.finish() }
}
