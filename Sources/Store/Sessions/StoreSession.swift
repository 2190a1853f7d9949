// The protocol for a database connection that one queue uses.

/// A session with a file or a server, whose functions block. Only one queue uses it.
package protocol StoreSession: AnyObject, SendableMetatype {
  /// Runs all jobs in one transaction, and returns after the commit. The commit is then on the disk, unless
  /// the jobs only change allowances. Such jobs are never mixed with others.
  func updateAll(_ jobs: [UpdateJob]) throws(StoreError)
  /// Releases everything that the session has open.
  func close()
}

/// A waiting time that doubles with each failure, up to a limit, and that a success resets.
package struct BackOff {
  private var failures = 0
  private let first: Duration
  private let longest: Duration

  package init(first: Duration = .milliseconds(100), longest: Duration = .seconds(2)) {
    self.first = first
    self.longest = longest
  }

  /// Resets the wait after a success.
  package mutating func succeeded() { failures = 0 }

  /// Returns how long to wait after another failure. The time is shortened at random by up to a quarter, so
  /// that instances do not retry in step.
  package mutating func failed() -> Duration {
    let wait = min(longest, first * (1 << min(failures, 10)))
    failures += 1
    return wait * Double.random(in: 0.75...1)
  }
}
