// Queries remote policies over HTTP, each in the format of its rule.

import Callers
package import Gate
package import HTTP
package import JSON
package import Platform
package import Records
import Upstream

/// Sends queries to remote policies. If a policy fails, the outcome is an answer too, and the rule's
/// `on_failure` decides. A missing slot or missing time in this server is not a failure of the policy,
/// because it received no query.
package struct RemotePolicies: Sendable {
  /// The transport for queries; nil if no query may be sent.
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
    /// The query was not sent, or was sent too late, because more requests wait for the policy than it can
    /// answer in time.
    case overloaded(retryAfter: Duration)
    /// The time that the request has left, or half of it for a rule in audit mode, ended first.
    case late
  }

  /// The maximum size of a response, in bytes. A decision needs only a few bytes.
  private static let maximumAnswer = 64 * 1024

  /// Sends a query once, within the time limits of the rule and of the request.
  func ask(_ query: RemoteQuery, deadline: MonotonicTime?) async -> Outcome {
    guard let transport else { return .answer(.notAsked) }
    let usual = Duration.milliseconds(query.remote.timeoutMilliseconds)
    // A rule in audit mode leaves half of the time to rules that are enforced.
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
      // The client has left, so the policy did not fail.
      if error.reason == .cancelled { return .answer(.notAsked) }
      if error.reason == .overloaded { return .overloaded(retryAfter: error.retryAfter ?? .seconds(1)) }
      if error.reason == .timedOut, timeout < usual { return late(query) }
      // The query waited for a slot and lost part of its time, so the policy did not fail.
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
  /// A reason for the audit line: cut to 256 characters, and without any telephone number that the policy may
  /// quote from its query.
  static func printable(_ reason: String) -> String {
    // 40 scalars more than the limit, so that a number at the cut is masked as a whole.
    let beginning = String(String.UnicodeScalarView(reason.unicodeScalars.prefix(256 + 40)))
    return String(String.UnicodeScalarView(beginning.hidingPhoneNumbers.unicodeScalars.prefix(256)))
  }
}

extension JSONObject {
  /// Facts as the members of a JSON object.
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

  /// Parses a number. Text that is not a number becomes a string, although JSON and YAML never produce any.
  private static func number(_ text: String) -> JSONValue {
    do throws(JSONError) {
      let value = try JSONValue(parsing: Array(text.utf8))
      if case .number = value { return value }
    } catch {}
    return .string(text)
  }
}
