// The server's log: events for operators, one line each, beside the audit records.

package import HTTP
import HTTPServer
import JSON
public import Platform
import Synchronization

/// Writes events to the log sink. Values must never be secrets, tokens or full phone numbers.
public struct Log: Sendable {
  private let sink: LogSink
  private let lane: Int
  private let settings: Settings
  private let clock: any TimeSource
  /// The colors of text lines.
  let colour: TerminalColour

  /// The state that all copies of a log share, so that a reload reaches them.
  private final class Settings: Sendable {
    let current: Mutex<LogSettings>
    /// Whether the format is text. Outside the lock, because every audit line reads it.
    let isText: Atomic<Bool>

    init(_ first: LogSettings) {
      current = Mutex(first)
      isText = Atomic(first.format == .text)
    }
  }

  /// Makes a log that writes lines of `level` and above to one lane of a sink.
  /// - Parameter isColoured: Whether lines appear on a terminal that shows colors. JSON lines have none.
  public init(
    sink: LogSink, lane: Int, level: LogSettings.Level, format: LogSettings.Format,
    clock: any TimeSource, isColoured: Bool = false
  ) {
    self.sink = sink
    self.lane = lane
    settings = Settings(LogSettings(level: level, format: format))
    self.clock = clock
    colour = TerminalColour(isOn: isColoured)
  }

  /// Applies new settings to every copy of this log.
  package func set(_ new: LogSettings) {
    settings.current.withLock { $0 = new }
    settings.isText.store(new.format == .text, ordering: .relaxed)
  }

  /// Whether lines are text for people rather than JSON.
  var isText: Bool { settings.isText.load(ordering: .relaxed) }

  /// Whether events of a level are written. Check this first if gathering the values is expensive.
  package func isEnabled(_ level: LogSettings.Level) -> Bool {
    level >= settings.current.withLock({ $0.level })
  }

  /// Writes one event, if its level is high enough. Adds the request's ids if the current task works for a
  /// request.
  /// - Parameters:
  ///   - message: The event, in constant words.
  ///   - values: The details, in the order in which the line shows them. Empty values are left out.
  public func write(
    _ level: LogSettings.Level, _ message: String, _ values: KeyValuePairs<String, any LogValue> = [:]
  ) {
    write(level, message, values, trace: nil)
  }

  /// Writes one event that belongs to a trace other than the current task's.
  package func write(
    _ level: LogSettings.Level, _ message: String, _ values: KeyValuePairs<String, any LogValue>,
    trace: TraceContext?
  ) {
    guard isEnabled(level) else { return }
    sink.append(line(level, message, values, trace: trace), lane: lane)
  }

  /// One event as a line.
  package func line(
    _ level: LogSettings.Level, _ message: String, _ values: KeyValuePairs<String, any LogValue>,
    trace: TraceContext? = nil
  ) -> [UInt8] {
    let particulars = values.map {
      (key: $0.key, value: $0.value.logged, isNumeric: type(of: $0.value).isNumeric)
    }
    .filter { !$0.value.isEmpty }
    let ids = Self.ids(trace, besides: particulars.map(\.key))
    var line: [UInt8] = []
    switch settings.current.withLock({ $0.format }) {
    case .json:
      line.append(contentsOf: #"{"log":"log","time":""#.utf8)
      clock.unixTime.appendRFC3339(to: &line)
      line.append(contentsOf: #"","level":"\#(level.rawValue)","message":"#.utf8)
      JSONText.append(message, to: &line)
      for (name, value, isNumeric) in particulars {
        line.append(UInt8(ascii: ","))
        JSONText.append(name, to: &line)
        line.append(UInt8(ascii: ":"))
        if isNumeric { line.append(contentsOf: value.utf8) } else { JSONText.append(value, to: &line) }
      }
      for (name, value) in ids { line.append(contentsOf: #","\#(name)":"\#(value)""#.utf8) }
      line.append(contentsOf: "}\n".utf8)
    case .text:
      clock.unixTime.appendRFC3339(to: &line)
      line.append(UInt8(ascii: " "))
      colour.append(level.rawValue, level.tone, to: &line)
      line.append(contentsOf: " \(message)".utf8)
      for (name, value, isNumeric) in particulars {
        line.append(contentsOf: " \(name)=".utf8)
        guard !isNumeric else {
          line.append(contentsOf: value.utf8)
          continue
        }
        // Quoted like JSON, so that no value can forge a line, move a terminal's cursor or reverse the text
        // around it.
        JSONText.appendShown(value, to: &line)
      }
      for (name, value) in ids { line.append(contentsOf: " \(name)=\(value)".utf8) }
      line.append(UInt8(ascii: "\n"))
    }
    return line
  }

  /// The ids of the current task's request, except names that the event already uses. The ids need no
  /// escaping.
  private static func ids(
    _ trace: TraceContext?, besides names: [String]
  ) -> [(String, String)] {
    let context = RequestContext.current
    var ids: [(String, String)] = []
    if let context { ids.append(("request_id", context.requestID.description)) }
    if let trace = trace ?? context?.trace { ids.append(("trace_id", trace.traceID)) }
    return ids.filter { !names.contains($0.0) }
  }
}

extension LogSettings.Level {
  /// The color of the level's word; `info` has none.
  fileprivate var tone: TerminalColour.Tone? {
    switch self {
    case .debug: .quiet
    case .info: nil
    case .warning: .doubtful
    case .error: .bad
    }
  }
}
