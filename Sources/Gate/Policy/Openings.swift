// Finds the next time at which several schedules are open together, and caches results that took long to
// find.

import Platform
import Synchronization

/// Searches for times at which several schedules are open together. If schedules exclude each other, a search
/// takes thousands of steps, and every refused request would repeat it. So the result of a long search is
/// cached: until the opening that was found, or for a day if there is none.
final class Openings: Sendable {
  /// The result of a search, which is valid for every time from `from` through `through`.
  private struct Result {
    let from, through: Int64
    let opening: Int64?
  }

  /// The number of attempts after which schedules count as never open together.
  private static let mostAttempts = 4000
  /// The result of a search with more attempts than this is cached.
  private static let manyAttempts = 16
  /// The maximum number of cached results. There is one for each combination of opening hours that applies to
  /// some request.
  private static let mostResults = 64

  private let results = Mutex<[[Int]: Result]>([:])
  private let longSearches = Mutex(0)

  /// The number of long searches so far.
  var searches: Int { longSearches.withLock { $0 } }

  /// The first second at or after `seconds` at which all schedules are open; nil if none was found.
  ///
  /// - Parameter hours: The indices of the schedules in the policy, which are also the key of the cache.
  func next(from seconds: Int64, _ hours: [Int], _ schedule: (Int) -> Schedule) -> Int64? {
    if hours.count > 1, let known = results.withLock({ $0[hours] }),
      (known.from...known.through).contains(seconds)
    {
      return known.opening
    }
    var at = seconds
    var attempts = 0
    var opening: Int64?
    search: while attempts < Self.mostAttempts {
      attempts += 1
      var latest = at
      for index in hours {
        guard let next = schedule(index).nextOpen(from: latest) else { break search }
        latest = next
      }
      if latest == at {
        opening = at
        break
      }
      at = latest
    }
    guard attempts > Self.manyAttempts else { return opening }
    longSearches.withLock { $0 += 1 }
    let result = Result(from: seconds, through: opening ?? seconds.addingClamped(86_400), opening: opening)
    results.withLock { results in
      if results.count >= Self.mostResults, results[hours] == nil { results = [:] }
      results[hours] = result
    }
    return opening
  }
}
