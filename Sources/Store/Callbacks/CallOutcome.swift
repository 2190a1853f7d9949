// The outcome of a callback's call, as saved in the callback's record.

public import Gate
import JSON

/// The outcome of a callback's call, as Talkdesk reports it.
public struct CallOutcome: Hashable, Sendable {
  /// The result of the call. It is `reached` if the customer and an agent talked for longer than
  /// `OutcomeSettings.reachedOver`.
  public enum State: String, CaseIterable, Sendable {
    case reached
    case notReached = "not_reached"
    /// The customer ended the call before an agent spoke.
    case cancelled
  }

  /// How the server learned the outcome.
  public enum Source: String, CaseIterable, Sendable {
    /// An event that Talkdesk sent because of a trigger.
    case trigger
    /// The report of calls, which the server requests.
    case report
  }

  public let state: State
  public let source: Source
  /// The end of the call by Talkdesk's clock.
  public let at: Instant
  /// The talk time in seconds, including time on hold; nil if Talkdesk does not report it.
  public let talkSeconds: Int?
  /// The customer's waiting time in seconds; nil if Talkdesk does not report it.
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

  /// The maximum of a time in seconds, more than any call takes. A greater saved value is ignored.
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
