// Reads the events of Talkdesk's Live API.

public import HTTP
import JSON

/// The content of an event of a stream.
public enum LiveMessage: Hashable, Sendable {
  /// The number of available agents.
  case figure(Int64)
  /// A result that is not JSON, or has no whole number from 0 to `most` at the path.
  case unreadable
  /// Talkdesk can no longer answer the query. The stream continues without it. In the documentation, the data
  /// of this event is a Ruby hash, not JSON.
  case failed
  /// Something else, such as an event of another name.
  case other

  /// The maximum number of agents that is accepted.
  public static let most: Int64 = 1_000_000
  private static let limits = JSONLimits(
    bytes: EventStreamReader.mostBytes, depth: 16, members: 512, values: 8192)

  /// Reads an event.
  ///
  /// - Parameter path: The path of the number in the event's data.
  public init(_ event: StreamedEvent, at path: [String]) {
    switch event.name {
    case "result":
      self = Self.value(event.data).flatMap { Self.number(in: $0, at: path) }.map(Self.figure) ?? .unreadable
    case "error": self = .failed
    default: self = .other
    }
  }

  /// Whether an event is about the query.
  static func counts(_ event: StreamedEvent) -> Bool { ["result", "error"].contains(event.name) }

  /// The paths of an event's numbers, at most 100, for an operator who looks for the right one. Values are
  /// left out.
  public static func paths(_ event: StreamedEvent) -> [String] {
    guard event.name == "result", let value = value(event.data) else { return [] }
    var found: [String] = []
    var open: [(String, JSONValue)] = [("", value)]
    while let (path, value) = open.popLast(), found.count < 100 {
      switch value {
      case .object(let object):
        open += object.members.reversed().map { (path.isEmpty ? $0.name : "\(path).\($0.name)", $0.value) }
      case .array(let items):
        open += items.prefix(10).enumerated().reversed().map { ("\(path).\($0.offset)", $0.element) }
      default: if number(value) != nil { found.append(path) }
      }
    }
    return found
  }

  private static func value(_ data: [UInt8]) -> JSONValue? {
    do { return try JSONValue(parsing: data, limits: limits) } catch { return nil }
  }

  private static func number(in value: JSONValue, at path: [String]) -> Int64? {
    var value = value
    for step in path {
      if let member = value[step] {
        value = member
      } else if let items = value.array, let index = Int(step), items.indices.contains(index) {
        value = items[index]
      } else {
        return nil
      }
    }
    return number(value)
  }

  /// A whole number from 0, written as a number or as a string.
  private static func number(_ value: JSONValue) -> Int64? {
    if let number = value.int(in: 0...most) { return number }
    if let double = value.double(in: 0...Double(most)), double == double.rounded() { return Int64(double) }
    guard let text = value.string, (1...7).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text), number <= most
    else { return nil }
    return number
  }
}
