// Asks remote policies over HTTP, each in its rule's dialect.

import Callers
package import Gate
package import HTTP
package import JSON
package import Platform
package import Records
import Upstream

/// Sends queries to remote policies. If a policy fails, that is a result too, and the rule decides by
/// `on_failure`. A failure on this side is not: a policy that got no query, for lack of a slot or of time,
/// has not failed.
package struct RemotePolicies: Sendable {
  /// Nil if no query may be sent.
  let transport: (any HTTPTransport)?
  let log: Log?
  var time: any TimeSource = SystemClock()

  package init(transport: (any HTTPTransport)?, log: Log?, time: any TimeSource = SystemClock()) {
    self.transport = transport
    self.log = log
    self.time = time
  }

  /// The outcome of a query.
  package enum Outcome: Sendable {
    case answer(RemoteAnswer)
    /// More requests wait for the policy than it can answer in time, so it was not asked.
    case overloaded(retryAfter: Duration)
    /// The request's own time was over first.
    case late
  }

  /// The longest answer taken, in bytes: a decision is a few.
  private static let maximumAnswer = 64 * 1024

  /// Asks once, within the rule's time and the request's.
  func ask(_ query: RemoteQuery, deadline: MonotonicTime?) async -> Outcome {
    guard let transport else { return .answer(.notAsked) }
    let usual = Duration.milliseconds(query.remote.timeoutMilliseconds)
    // A rule in audit mode leaves half of the time to rules that decide.
    let left = deadline.map { query.isEnforced ? $0 - time.now : ($0 - time.now) / 2 }
    let timeout = min(usual, left ?? usual)
    guard timeout > .zero else { return late(query) }
    var fields: Fields = ["Content-Type": "application/json", "Accept": "application/json"]
    if let trace = RequestContext.current?.trace { fields["traceparent"] = trace.child().traceparent }
    let request = OutboundRequest(
      method: .post, url: query.remote.url, fields: fields,
      content: JSONValue(query.document).serialized(),
      timeout: timeout, maximumContentLength: Self.maximumAnswer, reuse: .allowedAndRepeatable)
    let failure: String
    var detail = ""
    do throws(TransportError) {
      let response = try await transport.send(request)
      if response.status == 200 {
        let answer = Self.answer(of: query.remote, in: response.content)
        guard case .failed(let cause) = answer else { return .answer(answer) }
        failure = response.codingFault ?? cause
      } else {
        failure = "it responded with status \(response.status)"
      }
    } catch {
      // The client has gone: the policy did not fail.
      if error.reason == .cancelled { return .answer(.notAsked) }
      if error.reason == .overloaded { return .overloaded(retryAfter: error.retryAfter ?? .seconds(1)) }
      if error.reason == .timedOut, timeout < usual { return late(query) }
      // Earlier policies took a part of the rule's time.
      if error.reason == .timedOut, error.isCurtailed { return .overloaded(retryAfter: .seconds(1)) }
      failure = error.words(about: "its server")
      detail = "\(error)"
    }
    log?.write(
      .warning, "a remote policy returned no decision; on_failure applies",
      [
        "rule": query.rule, "on_failure": query.remote.onFailure.rawValue,
        "error.message": detail.isEmpty ? failure : detail,
      ])
    return .answer(.failed(because: failure))
  }

  private func late(_ query: RemoteQuery) -> Outcome {
    log?.write(
      .warning,
      query.isEnforced
        ? "a remote policy did not respond in time; the request ends with 504"
        : "a remote policy in audit mode did not respond in half of the time left; the server skips its rule",
      ["rule": query.rule])
    return .late
  }

  private static func answer(of remote: RemoteRule, in content: [UInt8]) -> RemoteAnswer {
    do throws(JSONError) {
      let answer = remote.answer(reading: FactValue(try JSONValue(parsing: content)))
      if case .deny(let reason?) = answer { return .deny(reason: printable(reason)) }
      return answer
    } catch {
      return .failed(because: "its response is not JSON")
    }
  }
}

extension RemotePolicies {
  /// A reason for the audit line: cut to a limit, and without any telephone number that the policy may quote from its query.
  static func printable(_ reason: String) -> String {
    // 40 scalars more than the limit, so that a number at the cut is masked as a whole.
    let beginning = String(String.UnicodeScalarView(reason.unicodeScalars.prefix(256 + 40)))
    return String(String.UnicodeScalarView(beginning.hidingPhoneNumbers.unicodeScalars.prefix(256)))
  }
}

extension JSONObject {
  /// Facts as the members of an object.
  package init(_ facts: [FactMember]) {
    self.init()
    for fact in facts { append(fact.name, JSONValue(fact.value)) }
  }
}

extension JSONValue {
  /// A fact as JSON.
  package init(_ fact: FactValue) {
    switch fact {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .string(let text): self = .string(text)
    case .number(let text): self = Self.number(text)
    case .array(let values): self = .array(values.map(JSONValue.init))
    case .object(let members): self = .object(JSONObject(members))
    }
  }

  /// A number by its text. A text that is not a number stays a text; JSON and YAML give none.
  private static func number(_ text: String) -> JSONValue {
    do throws(JSONError) {
      let value = try JSONValue(parsing: Array(text.utf8))
      if case .number = value { return value }
    } catch {}
    return .string(text)
  }
}
