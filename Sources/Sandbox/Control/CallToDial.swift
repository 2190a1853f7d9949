// `POST /_sandbox/outcome`: makes the emulated Talkdesk report the outcome of a call.

import JSON
import Platform

/// The outcome of a call for the emulator to report.
struct CallToDial: Sendable {
  static let path = ControlEndpoint.prefix + "outcome"
  private static let states = ["reached", "not_reached", "cancelled"]
  private static let longestDelay: Int64 = 60_000
  private static let mostEvents: Int64 = 100

  /// The gateway's ID of the callback. Without a linked webhook (`Dialing`), the emulator's trace ID.
  let id: String
  private let state: String
  /// The trigger whose event is sent: `outboundCallEnds`, unless the request names another one.
  let trigger: String
  /// The time to wait before the first event.
  let delay: Duration
  /// The number of times the event is sent; 0 if it is dropped.
  let count: Int

  init(_ call: Call) throws(ControlRefusal) {
    let body = try ControlBody(
      call, members: ["id", "state"], optional: ["delay_ms", "repeat", "drop", "event"])
    id = try body.text("id")
    state = try body.text("state", among: Self.states)
    trigger =
      try body.has("event") ? body.text("event", among: TriggerService.names) : TriggerService.names[0]
    delay = .milliseconds(
      try body.has("delay_ms") ? body.integer("delay_ms", within: 0...Self.longestDelay) : 0)
    let told = try body.has("repeat") ? body.integer("repeat", within: 1...Self.mostEvents) : 1
    count = try body.flag("drop", default: false) ? 0 : Int(told)
  }

  /// The event that reports the call for a callback.
  ///
  /// - Parameters:
  ///   - record: The emulator's record of the callback.
  ///   - shift: The seconds by which the gateway's clock is ahead of the emulator's.
  func event(of record: CallbackRecord, shift: Int64) -> JSONObject {
    let (waited, talked): (Int64, Int64) =
      switch state {
      case "reached": (12, 40)
      case "cancelled": (5, 0)
      default: (30, 0)
      }
    let type =
      switch state {
      case "not_reached": "outbound_missed"
      case "cancelled": "abandoned"
      default: "outbound"
      }
    let start = record.time.advanced(bySeconds: shift).advanced(bySeconds: 1)
    func time(_ seconds: Int64) -> JSONValue {
      .string(UnixTime(seconds: start.advanced(bySeconds: seconds).seconds).rfc3339)
    }
    return [
      "event": .string(trigger), "type": .string(type),
      "call_id": .string("call-" + record.traceID), "interaction_id": .string(record.traceID),
      "contact_phone_number": .string(record.body?.contactPhoneNumber ?? ""),
      "talkdesk_phone_number": .string(record.body?.talkdeskPhoneNumber ?? ""), "start_time": time(0),
      "timestamp": time(waited + talked), "total_duration": .string(String(waited + talked)),
      "duration": .string(String(talked)), "waiting_time": .string(String(waited)), "hold_time": "0",
    ]
  }
}

extension Journal {
  /// The last callback with a trace id; nil if there is none.
  func callback(traceID: String) -> CallbackRecord? { callbacks.elements.last { $0.traceID == traceID } }

  /// The callback that a gateway's record describes; nil if there is none. If the record has no trace ID,
  /// because the emulator's response was lost, this is the last callback to a number of the same length with
  /// the same last two digits.
  func callback(of record: Dialing.Callback) -> CallbackRecord? {
    if let traceID = record.traceID { return callback(traceID: traceID) }
    return callbacks.elements.last { callback in
      guard let number = callback.body?.contactPhoneNumber else { return false }
      return number.utf8.count == record.contact.utf8.count && number.suffix(2) == record.contact.suffix(2)
    }
  }
}
