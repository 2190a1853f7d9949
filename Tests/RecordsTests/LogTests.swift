// Tests of the format of log lines.

import HTTP
import HTTPServer
import JSON
import Platform
import Testing

@testable import Records

@Suite struct LogTests {
  /// A clock that never moves.
  private struct StandingClock: TimeSource {
    var now: MonotonicTime { MonotonicTime(nanoseconds: 0) }
    var unixTime: UnixTime { UnixTime(seconds: 1_795_219_199, nanoseconds: 5_000_000) }
    func sleep(until: MonotonicTime) async throws {}
  }

  private let trace = "0af7651916cd43dd8448eb211c80319c"

  private func log(
    _ level: LogSettings.Level = .info, _ format: LogSettings.Format = .json
  ) -> Log {
    Log(sink: LogSink(lanes: 1) { _ in true }, lane: 0, level: level, format: format, clock: StandingClock())
  }

  private func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }

  private func context(traced: Bool) throws -> RequestContext {
    RequestContext(
      requestID: try #require(RequestID("r-1")),
      trace: traced ? TraceContext(Array("00-\(trace)-b7ad6b7169203331-01".utf8)) : nil)
  }

  @Test func `an event is one line of JSON, its words first and what is empty left out`() {
    #expect(
      text(log().line(.warning, "something happened", ["scope": "a b", "id": "", "error.type": "refused"]))
        == #"{"log":"log","time":"2026-11-20T23:59:59.005Z","level":"warning","message":"something happened","#
        + #""scope":"a b","error.type":"refused"}"# + "\n")
  }

  @Test func `a number is a number, in JSON and on a terminal`() {
    let absent: Int? = nil
    let values: KeyValuePairs<String, any LogValue> = [
      "attempt": 2, "duration_ms": Int64(84), "id": "7", "status": absent,
      "unavailable_seconds": LoggedSeconds(.milliseconds(1240)),
    ]
    #expect(
      text(log().line(.info, "a", values))
        .hasSuffix(#","attempt":2,"duration_ms":84,"id":"7","unavailable_seconds":1.2}"# + "\n"))
    #expect(
      text(log(.info, .text).line(.info, "a", values))
        .hasSuffix(#" a attempt=2 duration_ms=84 id="7" unavailable_seconds=1.2"# + "\n"))
  }

  @Test func `on a terminal it is a line of words`() {
    #expect(
      text(log(.info, .text).line(.info, "something happened", ["scope": "a b", "id": ""]))
        == "2026-11-20T23:59:59.005Z info something happened scope=\"a b\"\n")
  }

  @Test func `colours mark the level on a terminal that shows them, in text only`() {
    func line(_ level: LogSettings.Level, _ format: LogSettings.Format) -> String {
      let sink = LogSink(lanes: 1) { _ in true }
      return text(
        Log(sink: sink, lane: 0, level: .debug, format: format, clock: StandingClock(), isColoured: true)
          .line(level, "a", [:]))
    }
    #expect(line(.warning, .text) == "2026-11-20T23:59:59.005Z \u{1B}[33mwarning\u{1B}[0m a\n")
    #expect(line(.error, .text).contains("\u{1B}[31merror\u{1B}[0m"))
    #expect(line(.debug, .text).contains("\u{1B}[2mdebug\u{1B}[0m"))
    #expect(line(.info, .text) == "2026-11-20T23:59:59.005Z info a\n")
    #expect(!line(.error, .json).contains("\u{1B}") && !line(.error, .json).contains("u001"))
  }

  @Test(arguments: [LogSettings.Format.json, .text])
  func `no value can forge a line or move a terminal's cursor`(format: LogSettings.Format) {
    let line = log(.info, format).line(.info, "a", ["b": "x\n{\"log\":\"audit\"}\u{1B}[31m\u{0}\u{7F}"])
    #expect(line.dropLast().allSatisfy { $0 >= 0x20 && $0 != 0x7F } && line.last == 0x0A)
  }

  @Test func `no value turns the text around it on a terminal`() {
    let line = log(.info, .text).line(.info, "a", ["b": "x\u{202E}y\u{E0041}"])
    #expect(text(line).hasSuffix(#" info a b="x\u202ey\udb40\udc41""# + "\n"))
  }

  @Test func `what is done for a request carries its ids, on every way`() async throws {
    let log = log()
    try RequestContext.$current.withValue(context(traced: true)) {
      #expect(
        text(log.line(.info, "a", [:])).hasSuffix(#","request_id":"r-1","trace_id":"\#(trace)"}"# + "\n"))
    }
    try RequestContext.$current.withValue(context(traced: false)) {
      #expect(text(log.line(.info, "a", [:])).hasSuffix(#""message":"a","request_id":"r-1"}"# + "\n"))
    }
    #expect(text(log.line(.info, "a", [:])).hasSuffix(#""message":"a"}"# + "\n"))
    // The IDs are also there after a suspension, in a task of the request.
    let context = try context(traced: true)
    let line: [UInt8] = await withCheckedContinuation { continuation in
      context.task {
        await Task.yield()
        continuation.resume(returning: log.line(.info, "a", [:]))
      }
    }
    #expect(text(line).contains(trace))
  }

  @Test func `an id that an event names itself is not named twice`() throws {
    let log = log(.info, .text)
    try RequestContext.$current.withValue(context(traced: true)) {
      #expect(
        text(log.line(.info, "a", ["request_id": "other"])).hasSuffix(
          "a request_id=\"other\" trace_id=\(trace)\n"))
    }
  }

  @Test func `levels below the configured one are not written`() {
    let log = log(.warning)
    #expect(
      !log.isEnabled(.debug) && !log.isEnabled(.info) && log.isEnabled(.warning) && log.isEnabled(.error))
    log.set(LogSettings(level: .debug, format: .text))
    #expect(log.isEnabled(.debug))
  }
}
