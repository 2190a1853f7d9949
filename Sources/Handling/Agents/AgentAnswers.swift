// Turns the result of a tool into a sentence for the agent to say and into the document that the HTTP
// endpoint returns.

import API
import Callbacks
import Configuration
import Gate
import HTTP
import JSON
import Records
import Responses
import Store

/// Answers to one tool call. They never repeat text from a customer, an agent or Talkdesk: a model might obey
/// it.
struct AgentAnswers: Sendable {
  let reply: AgentReply
  let tool: Configuration.MCP.Tool
  /// Invalid arguments.
  let mistakes: [Problem.FieldProblem]
  let times: GMSLocalTimes
  let calls: AgentCalls

  private func answer(
    _ sentence: String, _ document: [UInt8], _ result: AgentCalls.Result = .ok
  ) -> Response {
    calls.count(tool.rawValue, result)
    return reply.result(sentence, document, isError: result == .refused || result == .error)
  }

  /// The answer to a refused or failed request, made from the problem that the HTTP endpoint would return.
  func problem(_ problem: Problem) -> Response {
    var problem = problem.naming(problem.code == .invalidRequest ? mistakes : [])
    if problem.code == .duplicate, !problem.isOfConversation {
      problem.id = nil
      problem.appointmentTime = nil
      problem.detail = "A call to this number was already requested, so no second call was made."
    }
    var sentence = GMSFailure(problem, times)?.message ?? problem.detail
    if let wait = problem.retryAfter, problem.nextOpen == nil {
      sentence += " Try again in \(Problem.words(wait))."
    }
    // The request's id may be the client's own text.
    return answer(sentence, problem.content(instance: nil), problem.code.isError ? .error : .refused)
  }

  // MARK: Callbacks

  private static func ending(_ contact: String) -> String { "the number ending in \(contact.suffix(2))" }

  /// The answer about a callback that was accepted or booked.
  func created(_ created: CallForm.Created) -> Response {
    let contact = created.request.maskedContact
    let response = CallbackDocument.created(
      created.id, at: created.at, createdAt: created.createdAt, contact: contact, verificationCode: nil)
    let sentence =
      created.at.map { "A callback to \(Self.ending(contact)) is booked for \(times.text($0))." }
      ?? "A callback to \(Self.ending(contact)) was requested."
    return answer(sentence, response.content)
  }

  /// The answer to a repeated request, about the saved callback of the earlier request.
  func repeated(_ record: StoredCallback) -> Response {
    var document = CallbackDocument.members(of: record)
    document["repeated"] = true
    return answer(
      "This callback was already requested, so nothing new was done. \(sentence(record))",
      document.serialized(), .repeated)
  }

  /// The answer to a request that is still running. The request is counted when it ends.
  ///
  /// - Parameter isRepeated: Whether the running request is an earlier one.
  func pending(_ id: String, at: Instant?, contact: String, isRepeated: Bool) -> Response {
    var document: JSONObject = ["id": .string(id), "status": .string(StoredCallback.Status.pending.rawValue)]
    if let at { document["at"] = .string(at.rfc3339) }
    document["contact_phone_number"] = .string(contact)
    if isRepeated { document["repeated"] = true }
    return reply.result(
      "The callback to \(Self.ending(contact)) is being requested. Ask for its status in a few seconds.",
      document.serialized())
  }

  /// The answer about the state of a callback.
  func status(_ record: StoredCallback) -> Response {
    answer(sentence(record), CallbackDocument.members(of: record).serialized())
  }

  private func sentence(_ record: StoredCallback) -> String {
    let whom = Self.ending(record.contact)
    switch record.status {
    case .scheduled:
      let time = record.at.map { " for \(times.text($0))" } ?? ""
      return "The callback to \(whom) is booked\(time)."
    case .pending: return "The callback to \(whom) is being requested."
    case .accepted: return "The callback to \(whom) was requested."
    case .failed: return "The callback to \(whom) was not made."
    case .unknown: return "We cannot tell whether the callback to \(whom) was requested. The phone may ring."
    case .cancelled: return "The callback to \(whom) is canceled."
    case .expired: return "The callback to \(whom) was not made in time."
    }
  }

  // MARK: Availability

  /// - Parameter response: The response of `GET /availability`.
  func availability(_ response: Response) -> Response {
    let document: JSONValue
    do throws(JSONError) {
      document = try JSONValue(parsing: response.content)
    } catch {
      preconditionFailure("a document of this server that is no JSON")
    }
    func time(_ value: JSONValue?) -> String? {
      value?.string.flatMap { Instant(rfc3339: $0) }.map(times.text)
    }
    let change = time(document["next_change"])
    var sentence =
      document["open"] == true
      ? "We can call back now." + (change.map { " We close on \($0)." } ?? "")
      : "We are closed." + (change.map { " We open on \($0)." } ?? "")
    if let slots = document["slots"]?.array {
      let free = slots.filter { $0["free"] != 0 }
      sentence +=
        time(free.first?["start"]).map { " The first free time is on \($0)." }
        ?? " No time is free in this span."
    }
    return answer(sentence, response.content)
  }
}
