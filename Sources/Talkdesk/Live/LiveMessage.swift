// Reads the events of Talkdesk's Live API.

public import HTTP
import JSON

/// What an event of a stream says.
public enum LiveMessage: Hashable, Sendable {
  /// How many agents are available.
  case figure(Int64)
  /// A result without a number at the path.
  case unreadable
  /// Talkdesk cannot answer the query any more. The stream goes on without it. The documents show a Ruby hash as its data.
  case failed
  /// Something else, as an event of another name.
  case other

  /// The most agents that are believed.
  public static let most: Int64 = 1_000_000
  private static let limits = JSONLimits(
    bytes: EventStreamReader.mostBytes, depth: 16, members: 512, values: 8192)

  /// Reads an event.
  ///
  /// - Parameter path: Where the number is, from the event's data on.
  public init(_ event: StreamedEvent, at path: [String]) {
    switch event.name {
    case "result":
      self = Self.value(event.data).flatMap { Self.number(in: $0, at: path) }.map(Self.figure) ?? .unreadable
    case "error": self = .failed
    default: self = .other
    }
  }

  /// Whether an event says anything of the query.
  static func counts(_ event: StreamedEvent) -> Bool { ["result", "error"].contains(event.name) }

  /// The paths of an event's numbers, for an operator who looks for one. Values are left out.
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

  /// A whole number from 0, as a number or as a text.
  private static func number(_ value: JSONValue) -> Int64? {
    if let number = value.int(in: 0...most) { return number }
    if let double = value.double(in: 0...Double(most)), double == double.rounded() { return Int64(double) }
    guard let text = value.string, (1...7).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text), number <= most
    else { return nil }
    return number
  }
}
