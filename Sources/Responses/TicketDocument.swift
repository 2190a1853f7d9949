// Writes tickets as JSON for responses.

import Gate
package import HTTP
package import JSON
package import Store

/// The JSON of tickets. It never contains a ticket's text.
package enum TicketDocument {
  /// The 201 for an opened ticket.
  package static func created(_ id: CallbackID, _ opened: StoredTicket.Opened) -> Response {
    Response(
      status: .created,
      fields: [
        "Content-Type": "application/json", "Cache-Control": "no-store", "Location": "/tickets/\(id)",
      ], content: (["id": .string(id.description)] + members(of: opened)).serialized())
  }

  /// The body of `GET /tickets/{id}`.
  package static func record(_ record: StoredCallback) -> JSONObject {
    var document: JSONObject = [
      "id": .string(record.id.description), "status": .string(record.status.rawValue),
      "created_at": .string(record.createdAt.rfc3339),
    ]
    if let settledAt = record.settledAt { document.append("settled_at", .string(settledAt.rfc3339)) }
    if let code = record.code { document.append("reason", .string(code)) }
    return document + (record.ticket?.opened.map(members) ?? [:])
  }

  /// The members of an opened ticket: its id and channel at the chat desk, and whether the message was sent.
  package static func members(of opened: StoredTicket.Opened) -> JSONObject {
    [
      "ticket_id": .string(opened.id), "channel_url": .string(opened.channelURL),
      "message_sent": .bool(opened.isMessageSent),
    ]
  }
}

extension JSONObject {
  fileprivate static func + (first: JSONObject, second: JSONObject) -> JSONObject {
    var sum = first
    for member in second.members { sum.append(member.name, member.value) }
    return sum
  }
}
