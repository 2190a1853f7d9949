// Writes audit records, one line each, whatever the log level: to stdout or to their own file.

package import Platform

/// Writes audit records, counts the decisions in them and stores the last ones. Auditing cannot be switched
/// off.
package struct AuditLog: Sendable {
  let sink: LogSink
  let clock: any TimeSource
  let metrics: ServiceMetrics
  /// The log whose format audit lines have if there is no trail.
  let log: Log
  /// Writes the audit lines if they form a chain or have their own file. Nil if they go through the log's
  /// sink.
  package let trail: AuditTrail?
  /// The trail in strict mode, where no secret leaves before its line is on the disk; otherwise nil.
  package var strict: AuditTrail? { trail.flatMap { $0.isRequired ? $0 : nil } }
  package let recent: RecentDecisions

  package init(
    sink: LogSink, clock: any TimeSource, metrics: ServiceMetrics, log: Log, trail: AuditTrail? = nil
  ) {
    self.sink = trail?.sink ?? sink
    self.trail = trail
    self.clock = clock
    self.metrics = metrics
    self.log = log
    recent = RecentDecisions(lanes: metrics.lanes)
  }

  /// Hands a record's line to the sink. Returns at once.
  ///
  /// - Parameters:
  ///   - start: When the whole request had arrived.
  ///   - time: When it was decided, if known; otherwise now.
  package func append(
    _ record: AuditRecord, since start: MonotonicTime, at time: UnixTime? = nil, lane: Int
  ) {
    let time = time ?? clock.unixTime
    let nanoseconds = clock.now.nanoseconds.subtractingClamped(start.nanoseconds)
    metrics.decided(record, lane: lane)
    if record.code != nil { metrics.troubles.met(by: record, at: time) }
    if trail == nil, log.isText {
      sink.append(lane: lane) {
        record.appendText(to: &$0, time: time, nanoseconds: nanoseconds, colour: log.colour)
      }
    } else {
      let isTaken = sink.append(lane: lane) { bytes in
        let start = bytes.count
        let repeated = record.append(to: &bytes, time: time, nanoseconds: nanoseconds)
        if record.outcome != nil {
          recent.append(bytes.span.extracting(start..<bytes.count), repeated, lane: lane)
        }
      }
      if isTaken { return }
    }
    // The sink has the line as text or was full, so the JSON line is made here.
    guard record.outcome != nil else { return }
    var line: [UInt8] = []
    let repeated = record.append(to: &line, time: time, nanoseconds: nanoseconds)
    recent.append(line.span, repeated, lane: lane)
  }
}
