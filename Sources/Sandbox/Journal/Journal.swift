// Records the last requests that the emulator received, for tests and for people.

import JSON

/// The last 1000 token requests, callbacks, refused callback requests, push notifications, and requests for
/// Sendbird's users and tokens, and how often each number rang. The counts include older ones; rings are
/// counted for the first 100,000 numbers.
struct Journal: Sendable {
  /// The maximum number of entries in each list.
  static let capacity = 1000
  /// The maximum number of phone numbers whose rings are counted. A load test calls fewer, and this many need
  /// only a few megabytes of memory.
  static let maximumNumbers = 100_000

  private(set) var exchanges = RecentList<ExchangeRecord>(capacity: capacity)
  private(set) var callbacks = RecentList<CallbackRecord>(capacity: capacity)
  private(set) var refusals = RecentList<CallbackRecord>(capacity: capacity)
  private(set) var sessions = RecentList<SessionRecord>(capacity: capacity)
  private(set) var rings: [String: Int] = [:]
  private(set) var notices = RecentList<NoticeRecord>(capacity: capacity)

  /// Adds a token request.
  mutating func record(_ exchange: ExchangeRecord) { exchanges.append(exchange) }

  /// Adds a callback request: to `callbacks` if the emulator acted on it, even if the response was lost, else
  /// to `refusals`.
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

  /// Adds a request to send a push notification.
  mutating func record(_ notice: NoticeRecord) { notices.append(notice) }

  /// Forgets push notifications.
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

  /// The body of `GET /_sandbox/notices`, newest first.
  var noticesJSON: JSONValue {
    var members = JSONObject()
    members.append("notices", .array(notices.elements.reversed().map(\.json)))
    members.append("count", Self.number(notices.count))
    return .object(members)
  }

  /// The body of `GET /_sandbox/sessions`: requests to Sendbird, how many there were, and the number of known
  /// users.
  func sessionsJSON(users: Int) -> JSONValue {
    var members = JSONObject()
    members.append("sessions", .array(sessions.elements.map(\.json)))
    members.append("count", Self.number(sessions.count))
    members.append("users", Self.number(users))
    return .object(members)
  }

  private static func number(_ count: Int) -> JSONValue { .number(JSONNumber(Int64(count))) }
}
