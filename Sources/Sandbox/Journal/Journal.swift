// Records every request that the emulator received, for tests and for people.

import JSON

/// What the emulator saw, for tests and for people: token requests, callbacks that were made, callback requests that
/// were not, and how often each number rang. The last 1000 of each are kept; counts go on, by
/// number for the first 100 000 numbers.
struct Journal: Sendable {
  /// How many entries each list keeps.
  static let capacity = 1000
  /// How many numbers' rings are counted apart: more than a load test calls, and some megabytes.
  static let maximumNumbers = 100_000

  private(set) var exchanges = RecentList<ExchangeRecord>(capacity: capacity)
  private(set) var callbacks = RecentList<CallbackRecord>(capacity: capacity)
  private(set) var refusals = RecentList<CallbackRecord>(capacity: capacity)
  private(set) var rings: [String: Int] = [:]

  /// Adds a token request.
  mutating func record(_ exchange: ExchangeRecord) { exchanges.append(exchange) }

  /// Adds a callback request: to the callbacks when it was acted on, whatever was answered, else to the refusals.
  mutating func record(_ callback: CallbackRecord) {
    switch callback.outcome {
    case .accepted, .droppedDuring, .droppedAfter:
      callbacks.append(callback)
      if let number = callback.body?.contactPhoneNumber {
        if rings[number] != nil || rings.count < Self.maximumNumbers { rings[number, default: 0] += 1 }
      }
    case .refused, .fault, .droppedBefore:
      refusals.append(callback)
    }
  }

  /// Forgets token requests.
  mutating func removeExchanges() { exchanges.removeAll() }

  /// Forgets callbacks, refusals and rings.
  mutating func removeCallbacks() {
    callbacks.removeAll()
    refusals.removeAll()
    rings.removeAll()
  }

  /// What `GET /_sandbox/exchanges` answers.
  var exchangesJSON: JSONValue {
    var members = JSONObject()
    members.append("exchanges", .array(exchanges.elements.map(\.json)))
    members.append("count", Self.number(exchanges.count))
    return .object(members)
  }

  /// What `GET /_sandbox/callbacks` answers. `arrivals` counts every request that came, acted on or not.
  var callbacksJSON: JSONValue {
    var counted = JSONObject()
    for (number, count) in rings.sorted(by: { $0.key < $1.key }) {
      counted.appendUnchecked(number, Self.number(count))
    }
    var members = JSONObject()
    members.append("callbacks", .array(callbacks.elements.map(\.json)))
    members.append("rings", .object(counted))
    members.append("count", Self.number(callbacks.count))
    members.append("refused", .array(refusals.elements.map(\.json)))
    members.append("arrivals", Self.number(callbacks.count + refusals.count))
    return .object(members)
  }

  private static func number(_ count: Int) -> JSONValue { .number(JSONNumber(Int64(count))) }
}
