// Records every request that the emulator received, for tests and for people.

import JSON

/// What the emulator saw, for tests and for people: token requests, callbacks that were made, callback requests that
/// were not, how often each number rang, and notices. The last 1000 of each are kept; counts go on, by
/// number for the first 100 000 numbers.
struct Journal: Sendable {
  /// How many entries each list keeps.
  static let capacity = 1000
  /// How many numbers' rings are counted apart: more than a load test calls, and some megabytes.
  static let maximumNumbers = 100_000

  private(set) var exchanges = RecentList<ExchangeRecord>(capacity: capacity)
  private(set) var callbacks = RecentList<CallbackRecord>(capacity: capacity)
  private(set) var refusals = RecentList<CallbackRecord>(capacity: capacity)
  private(set) var sessions = RecentList<SessionRecord>(capacity: capacity)
  private(set) var rings: [String: Int] = [:]
  private(set) var notices = RecentList<NoticeRecord>(capacity: capacity)

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

  /// Adds a request to send a notice.
  mutating func record(_ notice: NoticeRecord) { notices.append(notice) }

  /// Forgets notices.
  mutating func removeNotices() { notices.removeAll() }

  /// Adds a request to Sendbird.
  mutating func record(_ session: SessionRecord) { sessions.append(session) }

  /// Forgets requests to Sendbird.
  mutating func removeSessions() { sessions.removeAll() }

  /// Forgets token requests.
  mutating func removeExchanges() { exchanges.removeAll() }

  /// Forgets callbacks, refusals and rings.
  mutating func removeCallbacks() {
    callbacks.removeAll()
    refusals.removeAll()
    rings.removeAll()
  }

  /// The body of `GET /_sandbox/exchanges`.
  var exchangesJSON: JSONValue {
    var members = JSONObject()
    members.append("exchanges", .array(exchanges.elements.map(\.json)))
    members.append("count", Self.number(exchanges.count))
    return .object(members)
  }

  /// The body of `GET /_sandbox/callbacks`. `arrivals` counts every request, acted on or not.
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

  /// What `GET /_sandbox/notices` answers, the newest first.
  var noticesJSON: JSONValue {
    var members = JSONObject()
    members.append("notices", .array(notices.elements.reversed().map(\.json)))
    members.append("count", Self.number(notices.count))
    return .object(members)
  }

  /// What `GET /_sandbox/sessions` answers: requests to Sendbird, how many there were, and how many users it knows.
  func sessionsJSON(users: Int) -> JSONValue {
    var members = JSONObject()
    members.append("sessions", .array(sessions.elements.map(\.json)))
    members.append("count", Self.number(sessions.count))
    members.append("users", Self.number(users))
    return .object(members)
  }

  private static func number(_ count: Int) -> JSONValue { .number(JSONNumber(Int64(count))) }
}
