// A part of the running server: its background work, its metrics, and how it ends.

import Metrics
import Platform
import Synchronization

/// A part of the running server. A part may use the parts before it in the server's list, until it has ended.
struct Part: Sendable {
  /// A step of draining, before any part ends.
  enum DrainStep: Sendable {
    /// The readiness check fails. Requests still arrive for `drain_delay`.
    case announced
    /// No connection is accepted, and no job starts anything new.
    case closed
  }

  /// The name in the list of parts.
  let name: String
  /// The background work, from the start of the server to the end of the part.
  var work: @Sendable () async -> Void = {}
  /// Appends the part's metrics. Must not keep the part alive.
  var metrics: (@Sendable (inout MetricsText) -> Void)?
  /// Performs a step of draining. Must not wait.
  var drain: @Sendable (DrainStep) -> Void = { _ in }
  /// Ends the part and the task of its work, within the time limit for running requests.
  var end: @Sendable (Task<Void, Never>?, Duration) async -> Void = { work, _ in work?.cancel() }
}

/// The parts of a server in a fixed order. Parts start in this order, and end in the reverse order.
final class Parts: Sendable {
  private let all: [Part]
  private let tasks = Mutex<[Task<Void, Never>]>([])

  init(_ all: [Part]) { self.all = all }

  var names: [String] { all.map(\.name) }
  var metrics: [@Sendable (inout MetricsText) -> Void] { all.compactMap(\.metrics) }

  /// Starts the work of each part.
  func start() {
    tasks.withLock { tasks in tasks = all.map { part in Task { await part.work() } } }
  }

  /// Performs a step of draining in each part, the last part first.
  func drain(_ step: Part.DrainStep) {
    for part in all.reversed() { part.drain(step) }
  }

  /// Ends each part, the last part first.
  /// - Parameter limit: The time limit for running requests.
  func end(within limit: Duration) async {
    let tasks = tasks.withLock { $0 }
    for (index, part) in all.enumerated().reversed() {
      await part.end(tasks.isEmpty ? nil : tasks[index], limit)
    }
  }
}
