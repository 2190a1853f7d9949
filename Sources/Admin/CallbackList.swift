// `GET /admin/callbacks`: lists the callbacks and tickets of all callers for operators.

import API
import Delivery
import Documents
import Gate
import HTTP
import Installations
import JSON
import Responses
import Store

extension CallbackQuery {
  /// The default number of callbacks on a page.
  static let standardLimit = 50

  /// Reads `status`, `after` and `limit`.
  init(_ request: borrowing Request) throws(Problem) {
    self.init(limit: Self.standardLimit)
    var query = QueryReader()
    let statuses = StoredCallback.Status.allCases.map(\.rawValue).joined(separator: ", ")
    status = query.value(
      "status", request.queryItem("status"), "Give one of \(statuses).", StoredCallback.Status.init)
    after = query.value(
      "after", request.queryItem("after"), "Give the id of a callback, such as next from the previous page.",
      CallbackID.init)
    let range = "\(Self.limits.lowerBound) to \(Self.limits.upperBound)"
    limit =
      query.value("limit", request.queryItem("limit"), "Give a whole number from \(range).") {
        Digits.read($0, in: Self.limits)
      } ?? limit
    try query.finish()
  }
}

extension CallbackDocument {
  /// A page of callbacks and tickets, the newest first.
  /// - Parameter limit: The requested number. A full page has `next`, the ID after which the next page
  ///   starts.
  static func list(_ records: [StoredCallback], limit: Int) -> JSONValue {
    var document: JSONObject = ["callbacks": .array(records.map { .object(entry($0)) })]
    if records.count == limit, let last = records.last { document["next"] = .string(last.id.description) }
    return .object(document)
  }

  private static func entry(_ record: StoredCallback) -> JSONObject {
    var document = members(of: record)
    if let ticket = record.ticket {
      document["ticket"] = .object(ticket.opened.map(TicketDocument.members) ?? [:])
    }
    document["caller"] = .string(record.callerID)
    // The subject as audit lines name it. Operators use this name to find and revoke the subject's
    // installations.
    if record.subject != nil { document["subject"] = .string(AuditedCaller(of: record).subject) }
    if let app = record.appID { document["app"] = .string(app) }
    if let status = record.upstreamStatus { document["upstream_status"] = .number(JSONNumber(Int64(status))) }
    if let id = record.platformTID { document["platform_tid"] = .string(id) }
    return document
  }
}
