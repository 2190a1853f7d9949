// Remembers the IDs of used assertions, so that the emulator refuses a replayed one.

/// The `jti`s that were used. Each is remembered until its assertion has expired and cannot be replayed
/// anyway.
///
/// Beyond `capacity`, the oldest is forgotten, so that a load test does not make the emulator grow without
/// limit. A real identity provider must not have this hole.
struct ReplayGuard: Sendable {
  private struct Entry {
    var jwtID: String
    var expirationTime: Int64
  }

  /// The maximum number of ids to remember.
  let capacity: Int
  private var seen: Set<String> = []
  /// The assertions in order of arrival. With lifetimes of at most 300 s, this is nearly the order of expiry.
  private var arrivals: [Entry] = []
  private var first = 0

  init(capacity: Int = 65_536) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// The number of remembered IDs.
  var count: Int { seen.count }

  /// Remembers an ID. Returns false if it is remembered already. Times are seconds since the epoch.
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
