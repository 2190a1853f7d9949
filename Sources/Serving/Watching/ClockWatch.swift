// Logs when the wall clock jumps ahead of the monotonic clock, as after a virtual machine resumes.

package import Platform
package import Records

/// The job that reads the clocks each second. After a virtual machine resumes from a snapshot, the log then
/// explains why tokens and keys were fetched again.
package struct ClockWatch {
  /// The size that a jump must exceed to be logged.
  static let threshold = Duration.seconds(2)

  /// The lowest lead of the wall clock since the last jump, in nanoseconds.
  private var lead: Int64

  /// - Parameter now: A first reading.
  package init(_ now: MonotonicTime) { lead = now.wallLead }

  /// How far the wall clock has run ahead since the last jump; nil up to `threshold`. Each jump is returned
  /// once.
  package mutating func jump(at now: MonotonicTime) -> Duration? {
    lead = min(lead, now.wallLead)
    let ahead = Duration.nanoseconds(now.wallLead - lead)
    guard ahead > Self.threshold else { return nil }
    lead = now.wallLead
    return ahead
  }

  /// Reads the clocks each second until its task is canceled, and logs each jump.
  package static func run(_ clock: any TimeSource, _ log: Log) async {
    var watch = ClockWatch(clock.now)
    while await clock.hasSlept(until: clock.now + .seconds(1)) {
      // A pause of the process between reading the two clocks looks like a jump, but hardly occurs in both of
      // these readings.
      let (first, second) = (clock.now, clock.now)
      guard let ahead = watch.jump(at: first.wallLead < second.wallLead ? first : second) else { continue }
      log.write(
        .warning, "the wall clock went ahead of the time since boot",
        ["seconds": ahead.components.seconds])
    }
  }
}
