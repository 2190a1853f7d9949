// What all parts of a server write to, are counted in and tell the time by.

import Configuration
import HTTP
import Platform
import Records
import Upstream

/// What all parts of a server write to, are counted in and tell the time by.
struct Surroundings: Sendable {
  let sink: LogSink
  let log: Log
  let metrics: ServiceMetrics
  let clock: any TimeSource
  /// How many event loops serve requests.
  let loops: Int

  init(
    _ configuration: Configuration, loops: Int, clock: any TimeSource, isColoured: Bool,
    write: @escaping @Sendable ([UInt8]) -> Bool
  ) {
    // One lane for each loop's audit, one for everything else.
    sink = LogSink(lanes: loops + 1, write: write)
    log = Log(
      sink: sink, lane: loops, level: configuration.log.level, format: configuration.log.format,
      clock: clock, isColoured: isColoured)
    metrics = ServiceMetrics(loops: loops)
    self.clock = clock
    self.loops = loops
  }

  /// A transport whose requests count as that upstream's.
  func metered(_ transport: any HTTPTransport, _ upstream: ServiceMetrics.Upstream) -> MeteredTransport {
    MeteredTransport(transport: transport, upstream: upstream, metrics: metrics, clock: clock)
  }
}
