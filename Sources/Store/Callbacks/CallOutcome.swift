// The outcome of a callback's call, as its record has it.

public import Gate
import JSON

/// The outcome of a callback's call, as Talkdesk reports it.
public struct CallOutcome: Hashable, Sendable {
  /// Whether people spoke with each other.
  public enum State: String, CaseIterable, Sendable {
    case reached
    case notReached = "not_reached"
    /// The called person ended the call before an agent spoke.
    case cancelled
  }

  /// How the server learned the outcome.
  public enum Source: String, CaseIterable, Sendable {
    /// An event that a trigger in Talkdesk sent.
    case trigger
    /// The report of calls.
    case report
  }

  public let state: State
  public let source: Source
  /// The end of the call by Talkdesk's clock.
  public let at: Instant
  /// How long they spoke, in seconds; nil if Talkdesk does not report it.
  public let talkSeconds: Int?
  /// How long the person waited, in seconds; nil if Talkdesk does not report it.
  public let waitedSeconds: Int?
  /// The keyed hash of Talkdesk's id for the call. A store sets it.
  package internal(set) var call: StoreID?

  public init(
    _ state: State, source: Source, at: Instant, talkSeconds: Int? = nil, waitedSeconds: Int? = nil
  ) {
    self.state = state
    self.source = source
    self.at = at
    self.talkSeconds = talkSeconds
    self.waitedSeconds = waitedSeconds
  }

  /// More seconds than any call has.
  private static let longest = Int64(Int32.max)

  /// Reads the column `outcome`; nil for a text that no release wrote.
  package init?(stored text: String) {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: Array(text.utf8))
    } catch {
      return nil
    }
    guard let state = value["state"]?.string.flatMap(State.init(rawValue:)),
      let source = value["source"]?.string.flatMap(Source.init(rawValue:)),
      let at = value["at"]?.int(in: .min ... .max)
    else { return nil }
    self.init(
      state, source: source, at: Instant(nanosecondsSinceEpoch: at),
      talkSeconds: value["talk_seconds"]?.int(in: 0...Self.longest).map { Int($0) },
      waitedSeconds: value["waited_seconds"]?.int(in: 0...Self.longest).map { Int($0) })
    call = value["call"]?.string.flatMap(StoreID.init(hex:))
  }

  /// The content of the column `outcome`.
  package var stored: String {
    var object: JSONObject = [
      "state": .string(state.rawValue), "source": .string(source.rawValue),
      "at": .number(JSONNumber(at.nanosecondsSinceEpoch)),
    ]
    if let talkSeconds { object["talk_seconds"] = .number(JSONNumber(Int64(talkSeconds))) }
    if let waitedSeconds { object["waited_seconds"] = .number(JSONNumber(Int64(waitedSeconds))) }
    if let call { object["call"] = .string(call.hex) }
    return String(decoding: object.serialized(), as: UTF8.self)
  }
}
