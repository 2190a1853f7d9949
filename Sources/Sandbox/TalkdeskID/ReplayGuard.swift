// Remembers the IDs of used assertions, so that the emulator refuses a replayed one.

/// The `jti`s that were used, each kept until its assertion has expired and could not be replayed anyway.
///
/// Bounded: beyond `capacity` the oldest is forgotten. That is a hole a real identity provider must not have; here it
/// keeps a load test from growing the emulator without end.
struct ReplayGuard: Sendable {
  private struct Entry {
    var jwtID: String
    var expirationTime: Int64
  }

  /// The maximum number of ids to remember.
  let capacity: Int
  private var seen: Set<String> = []
  /// In order of arrival, which with lifetimes of at most 300 s is nearly the order of expiry.
  private var arrivals: [Entry] = []
  private var first = 0

  init(capacity: Int = 65_536) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// How many ids are remembered now.
  var count: Int { seen.count }

  /// Remembers an id; false when it was used before. Times are seconds since the epoch.
  mutating func insert(_ jwtID: String, until expirationTime: Int64, now: Int64) -> Bool {
    while first < arrivals.count, arrivals[first].expirationTime <= now { removeFirst() }
    guard seen.insert(jwtID).inserted else { return false }
    if seen.count > capacity { removeFirst() }
    arrivals.append(Entry(jwtID: jwtID, expirationTime: expirationTime))
    return true
  }

  private mutating func removeFirst() {
    seen.remove(arrivals[first].jwtID)
    first += 1
    // The front is cut off once it is half of the array, so that removing costs nothing on average.
    if first * 2 > arrivals.count {
      arrivals.removeFirst(first)
      first = 0
    }
  }
}
