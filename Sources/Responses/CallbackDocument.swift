// Writes callbacks as JSON for responses.

package import Gate
package import HTTP
package import JSON
package import Store

/// The JSON of callbacks. It never contains a full phone number.
package enum CallbackDocument {
  /// A callback as its caller sees it, as in the body of `GET /callbacks/{id}`.
  package static func record(_ record: StoredCallback, verificationCode: String?) -> JSONObject {
    var document = members(of: record)
    if let verificationCode { document["verification_code"] = .string(verificationCode) }
    return document
  }

  /// The response with a document that only its caller may see.
  package static func response(_ document: JSONObject) -> Response {
    Response(
      status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: document.serialized())
  }

  /// The members that both callers and operators see.
  package static func members(of record: StoredCallback) -> JSONObject {
    var document: JSONObject = [
      "id": .string(record.id.description), "status": .string(record.status.rawValue),
    ]
    if let at = record.at { document["at"] = .string(at.rfc3339) }
    document["created_at"] = .string(record.createdAt.rfc3339)
    if let settledAt = record.settledAt { document["settled_at"] = .string(settledAt.rfc3339) }
    if let code = record.code { document["reason"] = .string(code) }
    if record.ticket == nil { document["contact_phone_number"] = .string(record.contact) }
    if let consent = record.consent {
      document["consent"] = [
        "text": .string(consent.text), "at": .string(consent.at.rfc3339), "digest": .string(consent.digest),
      ]
    }
    if let outcome = record.outcome { document["outcome"] = .object(members(of: outcome)) }
    return document
  }

  private static func members(of outcome: CallOutcome) -> JSONObject {
    var document: JSONObject = [
      "state": .string(outcome.state.rawValue), "certainty": "matched",
      "source": .string(outcome.source.rawValue), "at": .string(outcome.at.rfc3339),
    ]
    if let talked = outcome.talkSeconds { document["talk_seconds"] = .number(JSONNumber(Int64(talked))) }
    if let waited = outcome.waitedSeconds { document["waited_seconds"] = .number(JSONNumber(Int64(waited))) }
    return document
  }

  /// The response to a request that was only validated: it is valid, and no call was requested.
  package static let valid = Response(
    status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
    content: Array(#"{"valid":true}"#.utf8))

  /// The 201 for an accepted or booked callback.
  /// - Parameter at: The time of an appointment.
  package static func created(
    _ id: CallbackID, at: Instant? = nil, createdAt: Instant, contact: String, verificationCode: String?
  ) -> Response {
    let status: StoredCallback.Status = at == nil ? .accepted : .scheduled
    var document: JSONObject = ["id": .string(id.description), "status": .string(status.rawValue)]
    if let at { document["at"] = .string(at.rfc3339) }
    document["created_at"] = .string(createdAt.rfc3339)
    document["contact_phone_number"] = .string(contact)
    if let verificationCode { document["verification_code"] = .string(verificationCode) }
    return Response(
      status: .created,
      fields: [
        "Content-Type": "application/json", "Cache-Control": "no-store", "Location": "/callbacks/\(id)",
      ], content: document.serialized())
  }

  /// The 201 for a retry of the request.
  /// - Parameter at: The time that the request names. The appointment may have been moved since.
  package static func created(_ record: StoredCallback, at: Instant?, verificationCode: String?) -> Response {
    created(
      record.id, at: record.at == nil ? nil : at ?? record.at, createdAt: record.createdAt,
      contact: record.contact, verificationCode: verificationCode)
  }
}
