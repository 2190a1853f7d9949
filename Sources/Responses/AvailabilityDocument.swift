// The response of `GET /availability`, for apps to show before a call: opening hours, remaining requests,
// free appointment slots and available agents.

import API
package import Gate
package import HTTP
import JSON

/// An appointment slot, with its free places and the total.
package struct OfferedSlot {
  package let slot: Slot
  package let free: Int
  package let total: Int

  package init(slot: Slot, free: Int, total: Int) {
    self.slot = slot
    self.free = free
    self.total = total
  }
}

/// The response to `GET /availability`.
package enum AvailabilityDocument {
  /// How long a client may cache the response if no change is known, in seconds.
  private static let usualAge: Int64 = 300
  /// How long a client may cache a response with a number of agents, in seconds. Talkdesk reports that number
  /// every few seconds.
  private static let agentsAge: Int64 = 5

  /// - Parameters:
  ///   - isStopped: Whether a stop applies to callbacks of this caller or app. Then the response must not be
  ///     cached, because an operator can end the stop at any time.
  ///   - statuses: The caller's remaining allowances, in the rules' order.
  ///   - slots: The slots of the span that the request names; nil without one.
  ///   - agents: The number of available agents, and the time of that report; nil if unknown.
  package static func response(
    _ availability: Availability, isStopped: Bool, _ statuses: [AllowanceStatus],
    slots: [OfferedSlot]? = nil, agents: (available: Int64, asOf: Instant)? = nil, at now: Instant
  ) -> Response {
    var remaining = JSONObject()
    for status in statuses { remaining.append(status.rule, number(status.count.remaining)) }
    var document: JSONObject = [
      "open": .bool(availability.isOpen),
      "next_change": availability.nextChange.map { .string($0.rfc3339) } ?? .null,
      "windows": .array(
        availability.windows.map { window in
          ["start": .string(window.start.rfc3339), "end": .string(window.end.rfc3339)]
        }),
      "remaining": .object(remaining),
    ]
    if let slots {
      document["slots"] = .array(
        slots.map { offered in
          [
            "start": .string(Instant(seconds: offered.slot.start).rfc3339),
            "end": .string(Instant(seconds: offered.slot.end).rfc3339),
            "free": number(Int64(offered.free)), "total": number(Int64(offered.total)),
          ]
        })
    }
    if let agents {
      document["agents"] = [
        "available": number(agents.available), "as_of": .string(agents.asOf.rfc3339),
      ]
    }
    // Rounded down, so that clients ask again at the change.
    let change =
      availability.nextChange.map { max(0, ($0 - now - .nanoseconds(1)).components.seconds) } ?? usualAge
    let age = agents == nil ? change : min(change, agentsAge)
    var fields: Fields = [
      "Content-Type": "application/json",
      // What remains may differ by caller, so shared caches must not store it.
      "Cache-Control": isStopped || slots != nil ? "no-store" : "private, max-age=\(age)",
      "Vary": "Authorization, X-API-Key, Origin",
    ]
    fields.append(allowances: statuses)
    return Response(status: .ok, fields: fields, content: document.serialized())
  }

  private static func number(_ value: Int64) -> JSONValue { .number(JSONNumber(max(0, value))) }
}
