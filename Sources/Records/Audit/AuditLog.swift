// Writes audit records to stdout, one line each, at every log level.

package import Platform

/// Writes audit records, and counts the decisions in them. It cannot be switched off.
package struct AuditLog: Sendable {
  let sink: LogSink
  let clock: any TimeSource
  let metrics: ServiceMetrics
  /// Whose format the lines have.
  let log: Log

  package init(sink: LogSink, clock: any TimeSource, metrics: ServiceMetrics, log: Log) {
    self.sink = sink
    self.clock = clock
    self.metrics = metrics
    self.log = log
  }

  /// Hands a record's line to the sink. Returns at once.
  ///
  /// - Parameters:
  ///   - start: When the whole request had arrived.
  ///   - time: When it was decided, if known; otherwise now.
  package func append(
    _ record: borrowing AuditRecord, since start: MonotonicTime, at time: UnixTime? = nil, lane: Int
  ) {
    let time = time ?? clock.unixTime
    let duration = clock.now - start
    metrics.decided(record, lane: lane)
    guard log.isText else {
      return sink.append(lane: lane) { record.append(to: &$0, time: time, duration: duration) }
    }
    sink.append(lane: lane) {
      record.appendText(to: &$0, time: time, duration: duration, colour: log.colour)
    }
  }
}
