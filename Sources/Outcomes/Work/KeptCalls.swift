// Calls that explain no callback yet, for a while.

import Platform
import Store

/// Events may come in any order, so a call that explains no callback, or several, is tried again for a minute.
struct KeptCalls: Sendable {
  /// How many there are at most. Further ones are dropped.
  static let most = 10_000
  /// When a call is tried again, after its event came. The last time ends it.
  private static let tries: [Duration] = [
    .seconds(1), .seconds(3), .seconds(8), .seconds(20), .seconds(40), .seconds(60),
  ]

  struct Entry: Sendable {
    let call: EndedCall
    let event: HookedEvent
    /// How often it was tried again.
    var tries = 0
  }

  private var waiting: [Entry] = []

  var count: Int { waiting.count }

  /// Keeps a call, unless there are too many or its time is over.
  mutating func keep(_ entry: Entry) {
    guard entry.tries < Self.tries.count, waiting.count < Self.most else { return }
    waiting.append(entry)
  }

  /// Takes those that are to be tried again.
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
