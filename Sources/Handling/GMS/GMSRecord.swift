// A callback as GMS clients read it, and the names by which they know it.

import API
import Callbacks
import Configuration
import Gate
import HTTP
import JOSE
import JSON
import Sealing
import Store
import Texts

/// The names of callbacks for GMS clients: 32 characters of A–Z and 2–7, derived from a store key, so that
/// clients cannot guess them.
struct GMSNames: Sendable {
  let keys: StoreKeys

  /// The 32 characters of names. A name has one character for each octet of an HMAC-SHA-256 code, with five
  /// bits of it: 160 bits.
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  private static func name(_ id: CallbackID, _ key: StoreKey) -> String {
    let code = HMAC.code(Array("id \(id)".utf8), key: key.naming, .sha256)
    return String(decoding: code.map { alphabet[Int($0 & 31)] }, as: UTF8.self)
  }

  /// The hash by which the store knows a name.
  static func digest(_ name: String) -> SHA256Digest { SHA256Digest(of: Array(name.utf8)) }

  /// The name of a new callback.
  func name(of id: CallbackID) -> String { Self.name(id, keys.current) }

  /// The name of a callback; nil if the callback has none, or if the key that made it is gone.
  func name(of record: StoredCallback) -> String? {
    keys.all.lazy.map { Self.name(record.id, $0) }.first { Self.digest($0) == record.alias?.name }
  }

  private static func number(
    _ callerID: String, _ subject: String, _ number: E164, _ key: StoreKey
  ) -> SHA256Digest {
    let text = "number \(callerID)\u{0}\(subject)\u{0}\(number.text)"
    guard let digest = SHA256Digest(HMAC.code(Array(text.utf8), key: key.naming, .sha256)) else {
      preconditionFailure("a code has as many bytes as a digest")
    }
    return digest
  }

  /// The alias that the record of a callback stores.
  func alias(of intent: CallbackIntent, service: String) -> CallbackAlias {
    CallbackAlias(
      name: Self.digest(name(of: intent.id)),
      number: Self.number(
        intent.callerID, intent.subject ?? intent.callerID, intent.contact, keys.current), service: service)
  }

  /// The hashes of an owner's number, one for each store key.
  func numbers(_ callerID: String, _ subject: String, _ number: E164) -> [SHA256Digest] {
    keys.all.map { Self.number(callerID, subject, number, $0) }
  }
}

/// A callback as GMS shows it: a flat object of texts.
struct GMSRecord {
  var name: String
  var service: String
  var number: String
  var desired: Instant
  var expiration: Instant
  var status: StoredCallback.Status
  var code: Problem.Code?
  /// The customer's data; empty once the callback is not scheduled.
  var context: [(name: String, value: String)] = []

  var state: String {
    switch status {
    case .scheduled: "SCHEDULED"
    case .pending: "PROCESSING"
    case .accepted, .failed, .unknown, .cancelled, .expired: "COMPLETED"
    }
  }

  private var reason: String? {
    switch status {
    case .cancelled: "CANCELLED"
    case .expired: "FAIL_TIMEOUT_TTL"
    case .failed:
      switch code {
      case nil: "FAIL_QUEUEING"
      case .closed, .denied, .noAgents, .stopped, .numberNotAllowed, .unknownApp, .internal: "FAIL_ERROR"
      // Talkdesk did not accept the call, or the server could not send the request.
      case .invalidRequest, .upstreamRateLimited, .upstreamRefused, .upstreamFailed, .upstreamUnavailable,
        .upstreamTimeout, .outcomeUnknown, .overloaded, .storeUnavailable, .auditUnavailable, .rateLimited,
        .quotaExhausted:
        "FAIL_QUEUEING"
      // No callback ends with these.
      case .malformedRequest, .invalidJSON, .unauthenticated, .invalidToken, .invalidClient, .invalidProof,
        .attestationRequired, .attestationFailed, .attestationUnavailable, .notFound, .methodNotAllowed,
        .numberNotProven, .consentRequired, .requestTimeout, .tooMany, .taken, .requestExpired,
        .alreadyDelivered, .claimExpired,
        .challengeExpired, .noDevice, .duplicate, .inProgress, .slotFull, .tooLate, .contentTooLarge,
        .targetTooLong, .unsupportedMediaType, .idempotencyMismatch, .slowDown, .fieldsTooLarge:
        "FAIL_QUEUEING"
      }
    case .scheduled, .pending, .accepted, .unknown: nil
    }
  }

  var document: JSONObject {
    let path = "/1/service/callback/\(service)/\(name)"
    var document: JSONObject = [
      "_id": .string(name), "_service_name": .string(service), "_customer_number": .string(number),
      "_desired_time": .string(desired.gms), "_expiration_time": .string(expiration.gms),
      "_callback_state": .string(state),
    ]
    if let reason { document["_callback_reason"] = .string(reason) }
    document["_url"] = .string(path)
    document["url"] = .string(path)
    for field in context where document[field.name] == nil {
      document.append(field.name, .string(field.value))
    }
    return document
  }

  /// The response to the creation of the callback. Some clients read it as a record, others as a dialog.
  var creation: JSONObject {
    var document = document
    document["_dialog_id"] = "0"
    document["_action"] = "ConfirmationDialog"
    document["_text"] =
      status == .scheduled ? "Your callback is booked" : "You will receive the call shortly"
    document["_ok_title"] = "Ok"
    return document
  }

  static func response(_ content: JSONValue) -> Response {
    Response(
      status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: content.serialized())
  }
}
