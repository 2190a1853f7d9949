// What operators read besides the audit: events of the process, one line each.

internal import JSON
public import Platform
internal import Synchronization

/// Writes events to the log sink. Values must never be secrets, tokens or full phone numbers.
public struct Log: Sendable {
  private let sink: LogSink
  private let lane: Int
  private let settings: Settings
  private let clock: any TimeSource

  /// What all copies of a log share, so that a reload reaches them.
  private final class Settings: Sendable {
    let current: Mutex<Configuration.Log>
    init(_ first: Configuration.Log) { current = Mutex(first) }
  }

  /// Makes a log that writes lines of `level` and above to one lane of a sink.
  public init(
    sink: LogSink, lane: Int, level: Configuration.Log.Level, format: Configuration.Log.Format,
    clock: any TimeSource
  ) {
    self.sink = sink
    self.lane = lane
    settings = Settings(Configuration.Log(level: level, format: format))
    self.clock = clock
  }

  /// Writes by other settings from now on, in every copy of this log.
  func set(_ new: Configuration.Log) { settings.current.withLock { $0 = new } }

  /// Writes one event, if its level is high enough.
  /// - Parameters:
  ///   - message: What happened, in constant words.
  ///   - values: The particulars, in the order they are to be read.
  public func write(
    _ level: Configuration.Log.Level, _ message: String, _ values: KeyValuePairs<String, String> = [:]
  ) {
    guard level >= settings.current.withLock({ $0.level }) else { return }
    sink.append(line(level, message, values), lane: lane)
  }

  /// One event as a line.
  func line(_ level: Configuration.Log.Level, _ message: String, _ values: KeyValuePairs<String, String>)
    -> [UInt8]
  {
    var line: [UInt8] = []
    switch settings.current.withLock({ $0.format }) {
    case .json:
      line.append(contentsOf: #"{"log":"log","time":""#.utf8)
      clock.unixTime.appendRFC3339(to: &line)
      line.append(contentsOf: #"","level":"\#(level.rawValue)","message":"#.utf8)
      JSONText.append(message, to: &line)
      for (name, value) in values {
        line.append(UInt8(ascii: ","))
        JSONText.append(name, to: &line)
        line.append(UInt8(ascii: ":"))
        JSONText.append(value, to: &line)
      }
      line.append(contentsOf: "}\n".utf8)
    case .text:
      clock.unixTime.appendRFC3339(to: &line)
      line.append(contentsOf: " \(level.rawValue) \(message)".utf8)
      for (name, value) in values {
        line.append(contentsOf: " \(name)=".utf8)
        // Quoted like JSON, so that no value can forge a line or move a terminal's cursor.
        JSONText.append(value, to: &line)
      }
      line.append(UInt8(ascii: "\n"))
    }
    return line
  }
}
