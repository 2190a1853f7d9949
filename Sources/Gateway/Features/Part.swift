// A part of the running server: its work beside requests, what it shows in metrics, and how it ends.

import Metrics
import Platform
import Synchronization

/// A part of the running server. A part may use the parts before it in the server's list, until it has ended.
struct Part: Sendable {
  /// A step of draining, before any part ends.
  enum DrainStep: Sendable {
    /// The readiness check fails. Requests still come for `drain_delay`.
    case announced
    /// No connection is accepted, and no job takes up anything new.
    case closed
  }

  /// Its name in the list.
  let name: String
  /// Its work beside requests, from the server's start to the part's end.
  var work: @Sendable () async -> Void = {}
  /// Its families on the page of metrics, which must not keep the part alive.
  var metrics: (@Sendable (inout MetricsText) -> Void)?
  /// Takes a step of draining; must not wait.
  var drain: @Sendable (DrainStep) -> Void = { _ in }
  /// Ends the part, with the task of its work, in at most the duration that requests have.
  var end: @Sendable (Task<Void, Never>?, Duration) async -> Void = { work, _ in work?.cancel() }
}

/// The parts of a server in one order. They start in this order, and end in the reverse order.
final class Parts: Sendable {
  private let all: [Part]
  private let tasks = Mutex<[Task<Void, Never>]>([])

  init(_ all: [Part]) { self.all = all }

  var names: [String] { all.map(\.name) }
  var metrics: [@Sendable (inout MetricsText) -> Void] { all.compactMap(\.metrics) }

  /// Begins the work of each part.
  func start() {
    tasks.withLock { tasks in tasks = all.map { part in Task { await part.work() } } }
  }

  /// Takes a step of draining in each part, the last first.
  func drain(_ step: Part.DrainStep) {
    for part in all.reversed() { part.drain(step) }
  }

  /// Ends each part, the last first.
  /// - Parameter limit: How long running requests have.
  func end(within limit: Duration) async {
    let tasks = tasks.withLock { $0 }
    for (index, part) in all.enumerated().reversed() {
      await part.end(tasks.isEmpty ? nil : tasks[index], limit)
    }
  }
}
