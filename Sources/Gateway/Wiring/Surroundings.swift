// What all parts of a server write to, are counted in and tell the time by.

import Configuration
import HTTP
import JOSE
import Platform
import Records
import Sealing
import Upstream

/// What all parts of a server write to, are counted in and tell the time by.
struct Surroundings: Sendable {
  let sink: LogSink
  let log: Log
  let metrics: ServiceMetrics
  let clock: any TimeSource
  /// The audit's own way out; nil where its lines go with the log's.
  let trail: AuditTrail?
  /// How many event loops serve requests.
  let loops: Int

  init(
    _ configuration: Configuration, loops: Int, clock: any TimeSource, isColoured: Bool,
    storeKeys: StoreKeys?, write: @escaping @Sendable ([UInt8]) -> Int
  ) throws(StartError) {
    // One lane for each loop's audit, one for everything else.
    sink = LogSink(lanes: loops + 1, taking: write)
    log = Log(
      sink: sink, lane: loops, level: configuration.log.level, format: configuration.log.format,
      clock: clock, isColoured: isColoured)
    metrics = ServiceMetrics(loops: loops)
    self.clock = clock
    self.loops = loops
    let audit = configuration.audit
    do throws(SystemError) {
      guard audit.chain || audit.file != nil else {
        trail = nil
        return
      }
      trail = try AuditTrail(
        to: audit.file.map { .file($0) } ?? .output(write), key: audit.chain ? storeKeys?.current : nil,
        boot: Self.bootName(), isRequired: audit.isRequired, lanes: loops + 1, clock: clock, log: log)
    } catch {
      throw .audit(path: audit.file ?? "", error)
    }
  }

  /// How many log and audit lines were lost.
  var lostLines: @Sendable () -> Int {
    { [sink, trail] in sink.droppedLines + (trail?.lostLines ?? 0) }
  }

  /// Ends the log, after the audit.
  ///
  /// - Returns: How many lines are lost that no line has reported.
  func closeLog(within timeout: Duration) -> Int {
    let isClosed = sink.close(within: timeout)
    // A log that was written completely has reported the audit's.
    return sink.unreportedLines + (isClosed ? 0 : trail?.unreportedLines ?? 0)
  }

  /// A name that no other start has.
  private static func bootName() -> String {
    do throws(OpenSSLError) { return Hex.encode(try RandomBytes.make(8)) } catch {
      preconditionFailure("OpenSSL makes no random bytes: \(error)")
    }
  }

  /// A transport whose requests count as that upstream's.
  func metered(_ transport: any HTTPTransport, _ upstream: ServiceMetrics.Upstream) -> MeteredTransport {
    MeteredTransport(transport: transport, upstream: upstream, metrics: metrics, clock: clock)
  }
}
