// Makes bookings for the tests as the endpoint does.

import Gate
import Store

extension Booking {
  /// A booking for some seconds after noon, over 200 s later, with the terms of `CallbackIntent.made` and slots of a quarter of an hour.
  ///
  /// - Parameter id: The appointment that is moved by it; nil for a new one.
  static func made(
    _ contact: String = "+14155550165", for seconds: Double = 3600, moving id: CallbackID? = nil,
    caller: String = "ios-app", key: String? = nil, asks: String = "a", subject: String? = nil,
    window: Duration = .seconds(60), retention: Duration = .seconds(86_400), perSlot: Int = 100,
    perNumber: Int = 100, code: [UInt8]? = nil, content: [UInt8] = Array("content".utf8),
    at now: Instant = .noon()
  ) -> Booking {
    guard let number = try? E164(contact) else { preconditionFailure("a number") }
    let time = Instant.noon(seconds)
    var intent = CallbackIntent(
      id: id ?? CallbackID(at: now), callerID: caller, subject: subject, appID: nil, contact: number,
      key: key.map { CallbackIntent.Key(text: $0, fingerprint: Array(asks.utf8)) },
      terms: CallbackIntent.Terms(
        dedupeWindow: window, keyRetention: .seconds(3600), retention: retention),
      deadline: time.later(200))
    intent.sealedCode = code
    return Booking(
      intent: intent, at: time, slot: time.seconds / 900 * 900, content: content,
      limits: Limits(perSlot: perSlot, perNumber: perNumber))
  }

  var id: CallbackID { intent.id }
}

extension MoveResult {
  var moved: StoredCallback? { if case .moved(let record) = self { record } else { nil } }
}

extension EndResult {
  var ended: StoredCallback? { if case .ended(let record, _) = self { record } else { nil } }
  var unchanged: StoredCallback? { if case .unchanged(let record) = self { record } else { nil } }
}
