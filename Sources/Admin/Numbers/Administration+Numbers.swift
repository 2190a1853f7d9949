// The admin endpoints for blocked numbers: list, block and unblock.

package import API
import Documents
import Gate
package import HTTP
package import HTTPServer
import JSON
import Platform
import Records
import Responses
import Serving
import Store

extension Administration {
  /// `GET /admin/numbers`
  package func listBlockedNumbers(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    var query = QueryReader()
    let after = query.value("after", request.queryItem("after"), "Send next from the previous page.") {
      Digits.read($0, in: 1...Int.max)
    }
    let limit =
      query.value("limit", request.queryItem("limit"), "Give a whole number from 1 to 1000.") {
        Digits.read($0, in: 1...1000)
      } ?? 50
    try query.finish()
    let responder = exchange.deferred()
    operators.context.task { [store, clock] in
      do throws(StoreError) {
        let numbers = try await store.blockedNumbers(
          before: after.map { Int64($0) }, most: limit, at: Instant(clock.unixTime))
        var document: JSONObject = ["numbers": .array(numbers.map { .object($0.document) })]
        if numbers.count == limit, let last = numbers.last { document["next"] = .string("\(last.serial)") }
        responder.respond(
          Response(
            status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
            content: JSONValue.object(document).serialized()))
      } catch {
        responder.respond(Problem.unreadBlocks.response(requestID: responder.requestID))
      }
    }
  }

  /// `POST /admin/numbers/block`
  package func blockNumber(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    let wanted = try BlockRequest(request.content, isBlock: true, now: Instant(clock.unixTime))
    change(.block, wanted, operators, &exchange) { [blocked = runtime.blocked] () async throws(StoreError) in
      try await blocked.block(
        wanted.phone, reason: wanted.reason, until: wanted.until, by: operators.by.identity)
        ? nil : .tooManyBlocks
    }
  }

  /// `POST /admin/numbers/unblock`
  package func unblockNumber(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    let wanted = try BlockRequest(request.content, isBlock: false, now: Instant(clock.unixTime))
    change(.unblock, wanted, operators, &exchange) {
      [blocked = runtime.blocked] () async throws(StoreError) in
      try await blocked.unblock(wanted.phone)
      return nil
    }
  }

  /// Changes the list in a task, with an audit line. Like a stop, a block does not wait for its line in
  /// strict audit.
  private func change(
    _ action: AuditedAction, _ wanted: BlockRequest, _ operators: OperatorRequest, _ exchange: inout Exchange,
    _ body: @escaping @Sendable () async throws(StoreError) -> Problem?
  ) {
    var line = operators.line(action, exchange)
    (line.record.contact, line.record.reason) = (wanted.phone.masked, wanted.reason)
    let responder = exchange.deferred()
    operators.context.task { [audit, log, line] in
      let problem: Problem?
      do throws(StoreError) {
        problem = try await body()
      } catch {
        problem = error.isInDoubt ? .uncertainBlock : .unsavedBlock
        log.write(.error, "the list of blocked numbers was not changed", ["error.message": "\(error)"])
      }
      if problem == nil {
        log.write(
          .warning, action == .block ? "number blocked by an operator" : "number unblocked by an operator",
          [
            "number": wanted.phone.masked, "operator": operators.by.identity.name,
            "by": operators.by.identity.by.rawValue,
          ])
      }
      line.append(to: audit, problem?.code)
      responder.respond(
        problem?.response(requestID: responder.requestID)
          ?? Response(status: .noContent, fields: ["Cache-Control": "no-store"]))
    }
  }
}

/// The body of `POST /admin/numbers/block` and `/unblock`.
struct BlockRequest: Sendable {
  let phone: E164
  private(set) var reason: String?
  private(set) var until: Instant?

  /// - Parameter isBlock: Whether `reason` and `until` are allowed.
  init(_ content: [UInt8], isBlock: Bool, now: Instant) throws(Problem) {
    var body = try AdminBody(content)
    var phone: E164?
    if let text = body.text("phone") {
      do throws(E164Error) { phone = try E164(text) } catch { body.note("phone", error.correction) }
    } else if body.mistakes.isEmpty {
      body.note("phone", "Give the phone number: + and the country code first.")
    }
    if isBlock {
      reason = body.reason()
      if let text = body.text("until") {
        until = Instant(rfc3339: text)
        if until.map({ $0 > now }) != true {
          body.note("until", "Give a later date and time with an offset, such as 2026-11-23T10:00:00-05:00.")
        }
      }
    }
    try body.finish()
    guard let phone else { preconditionFailure("neither a number nor a mistake") }
    self.phone = phone
  }
}

extension BlockedNumber {
  fileprivate var document: JSONObject {
    var document: JSONObject = ["phone": .string(mask), "since": .string(since.rfc3339)]
    if let reason { document["reason"] = .string(reason) }
    if let until { document["until"] = .string(until.rfc3339) }
    document.put(by)
    return document
  }
}

extension Problem {
  fileprivate static let tooManyBlocks = Problem(
    .tooMany, "100,000 numbers are blocked, and there can be no more. Unblock one first.")
  fileprivate static let unreadBlocks = Problem(
    .storeUnavailable, "The server cannot read its database right now.", tryAgainAfter: 1)
  fileprivate static let unsavedBlock = Problem(
    .storeUnavailable, "The database could not save this, so nothing has changed.", tryAgainAfter: 1)
  /// The store may have saved the change. Repeating it is harmless.
  fileprivate static let uncertainBlock = Problem(
    .storeUnavailable, "The database did not respond, so the change may not be saved. Send it again.",
    retryAfter: 1)
}
