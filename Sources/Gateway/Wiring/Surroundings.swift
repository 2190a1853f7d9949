// The log, metrics, clock and audit trail that all parts of a server share.

import Configuration
import HTTP
import JOSE
import Platform
import Records
import Sealing
import Upstream

/// The log, metrics, clock and audit trail that all parts of a server share.
struct Surroundings: Sendable {
  let sink: LogSink
  let log: Log
  let metrics: ServiceMetrics
  let clock: any TimeSource
  /// Writes the audit lines if they form a chain or have their own file. Nil if they go through the log's
  /// sink.
  let trail: AuditTrail?
  /// The number of event loops that serve requests.
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

  /// The number of lost log and audit lines.
  var lostLines: @Sendable () -> Int {
    { [sink, trail] in sink.droppedLines + (trail?.lostLines ?? 0) }
  }

  /// Closes the log, after the audit.
  ///
  /// - Returns: The number of lost lines that no line has reported.
  func closeLog(within timeout: Duration) -> Int {
    let isClosed = sink.close(within: timeout)
    // If the log was written completely, it has reported the lost audit lines.
    return sink.unreportedLines + (isClosed ? 0 : trail?.unreportedLines ?? 0)
  }

  /// A name that no other start of a server has.
  private static func bootName() -> String {
    do throws(OpenSSLError) { return Hex.encode(try RandomBytes.make(8)) } catch {
      preconditionFailure("OpenSSL makes no random bytes: \(error)")
    }
  }

  /// A transport whose requests count for the given upstream.
  func metered(_ transport: any HTTPTransport, _ upstream: ServiceMetrics.Upstream) -> MeteredTransport {
    MeteredTransport(transport: transport, upstream: upstream, metrics: metrics, clock: clock)
  }
}
