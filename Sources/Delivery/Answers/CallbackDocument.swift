// Shows callbacks as JSON in responses.

import Gate
package import HTTP
package import JSON
package import Store

/// The JSON of callbacks: never a whole number.
package enum CallbackDocument {
  /// What the caller is told of one that was just accepted.
  static func accepted(_ id: CallbackID, createdAt: Instant, contact: String) -> [UInt8] {
    let document: JSONObject = [
      "id": .string(id.description), "status": .string(StoredCallback.Status.accepted.rawValue),
      "created_at": .string(createdAt.rfc3339), "contact_phone_number": .string(contact),
    ]
    return document.serialized()
  }

  /// What its caller is told who asks for it.
  package static func record(_ record: StoredCallback) -> Response {
    Response(
      status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: members(of: record).serialized())
  }

  /// What everybody is told who may see one.
  package static func members(of record: StoredCallback) -> JSONObject {
    var document: JSONObject = [
      "id": .string(record.id.description), "status": .string(record.status.rawValue),
      "created_at": .string(record.createdAt.rfc3339),
    ]
    if let settledAt = record.settledAt { document["settled_at"] = .string(settledAt.rfc3339) }
    if let code = record.code { document["reason"] = .string(code) }
    document["contact_phone_number"] = .string(record.contact)
    return document
  }

  /// Everything is in order, and nothing was done.
  package static let valid = Response(
    status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
    content: Array(#"{"valid":true}"#.utf8))

  /// The first answer to a request, or its repetition.
  package static func created(_ id: CallbackID, content: [UInt8]) -> Response {
    Response(
      status: .created,
      fields: [
        "Content-Type": "application/json", "Cache-Control": "no-store", "Location": "/callbacks/\(id)",
      ], content: content)
  }
}
