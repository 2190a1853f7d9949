// The protocol for a database connection that one queue uses.

/// Something that blocks: a file or a server. It is used by one queue only.
package protocol StoreSession: AnyObject, SendableMetatype {
  /// Runs all jobs in one transaction. Returns when it is committed: on the disk, unless the jobs only count. Jobs that only count
  /// come without others.
  func updateAll(_ jobs: [UpdateJob]) throws(StoreError)
  /// Lets go of everything.
  func close()
}

/// Waits longer each time something fails, up to a limit, and not at all once it works.
package struct BackOff {
  private var failures = 0
  private let first: Duration
  private let longest: Duration

  package init(first: Duration = .milliseconds(100), longest: Duration = .seconds(2)) {
    self.first = first
    self.longest = longest
  }

  /// It works.
  package mutating func succeeded() { failures = 0 }

  /// It failed again: how long to wait, with up to a quarter less, so that instances do not come back in step.
  package mutating func failed() -> Duration {
    let wait = min(longest, first * (1 << min(failures, 10)))
    failures += 1
    return wait * Double.random(in: 0.75...1)
  }
}
