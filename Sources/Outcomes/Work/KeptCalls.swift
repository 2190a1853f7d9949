// Saves ended calls that do not match exactly one callback yet, to match them again for a minute.

import Platform
import Store

/// Calls to match again. Events may arrive in any order, so a call that matches no callback, or several, is
/// tried again for a minute.
struct KeptCalls: Sendable {
  /// The maximum number of waiting calls. Further calls are dropped.
  static let most = 10_000
  /// The times at which a call is tried again, counted from the arrival of its event. After the last one, the
  /// call is dropped.
  private static let tries: [Duration] = [
    .seconds(1), .seconds(3), .seconds(8), .seconds(20), .seconds(40), .seconds(60),
  ]

  struct Entry: Sendable {
    let call: EndedCall
    let event: HookedEvent
    /// The number of repeated attempts so far.
    var tries = 0
  }

  private var waiting: [Entry] = []

  var count: Int { waiting.count }

  /// Saves a call for another attempt, unless too many calls wait or it has no attempt left.
  mutating func keep(_ entry: Entry) {
    guard entry.tries < Self.tries.count, waiting.count < Self.most else { return }
    waiting.append(entry)
  }

  /// Removes and returns the calls that are due for another attempt.
  mutating func takeDue(at now: MonotonicTime) -> [Entry] {
    var due: [Entry] = []
    waiting.removeAll { entry in
      guard now - entry.event.received >= Self.tries[entry.tries] else { return false }
      var entry = entry
      entry.tries += 1
      due.append(entry)
      return true
    }
    return due
  }
}
