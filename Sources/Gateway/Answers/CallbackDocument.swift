// Shows callbacks as JSON in responses.

import Gate
import HTTP
import JSON
import Store

/// The JSON of callbacks: never a whole number.
enum CallbackDocument {
  /// What its caller is told who asks for it.
  static func record(_ record: StoredCallback, verificationCode: String?) -> Response {
    var document = members(of: record)
    if let verificationCode { document["verification_code"] = .string(verificationCode) }
    return Response(
      status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: document.serialized())
  }

  /// What everybody is told who may see one.
  static func members(of record: StoredCallback) -> JSONObject {
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
  static let valid = Response(
    status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
    content: Array(#"{"valid":true}"#.utf8))

  /// What the caller is told of one that Talkdesk accepted.
  static func created(
    _ id: CallbackID, createdAt: Instant, contact: String, verificationCode: String?
  ) -> Response {
    var document: JSONObject = [
      "id": .string(id.description), "status": .string(StoredCallback.Status.accepted.rawValue),
      "created_at": .string(createdAt.rfc3339), "contact_phone_number": .string(contact),
    ]
    if let verificationCode { document["verification_code"] = .string(verificationCode) }
    return Response(
      status: .created,
      fields: [
        "Content-Type": "application/json", "Cache-Control": "no-store", "Location": "/callbacks/\(id)",
      ], content: document.serialized())
  }

  /// The same for those that repeat the request.
  static func created(_ record: StoredCallback, verificationCode: String?) -> Response {
    created(
      record.id, createdAt: record.createdAt, contact: record.contact, verificationCode: verificationCode)
  }
}
