// Finds the next time at which several schedules are open together, and remembers results that took long to find.

import Platform
import Synchronization

/// Searches for common openings. Schedules that exclude each other cost thousands of steps, and every refused request would
/// search again, so the result of a long search is kept: it holds until the opening, or for a day where there is none.
final class Openings: Sendable {
  /// The result of a search, which holds for every time from `from` through `through`.
  private struct Result {
    let from, through: Int64
    let opening: Int64?
  }

  /// How many openings are tried before schedules are taken to exclude each other.
  private static let mostAttempts = 4000
  /// A search with more attempts is kept.
  private static let manyAttempts = 16
  /// How many results are kept; there are as many as combinations of opening hours that requests meet.
  private static let mostResults = 64

  private let results = Mutex<[[Int]: Result]>([:])
  private let longSearches = Mutex(0)

  /// How many long searches there were.
  var searches: Int { longSearches.withLock { $0 } }

  /// The first second, from a given one, at which all schedules are open; nil if none was found.
  ///
  /// - Parameter hours: Identifies these schedules among those of the policy.
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
