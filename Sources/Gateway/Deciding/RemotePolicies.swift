// Asks remote policies over HTTP, as Open Policy Agent's data API is asked.

internal import Gate
internal import HTTP
internal import JSON

/// The way to remote policies. Whatever goes wrong there is an answer too, and the rule says which.
struct RemotePolicies: Sendable {
  /// Nil where nobody may be asked.
  let transport: (any HTTPTransport)?
  let log: Log?

  /// The longest answer taken, in bytes: a decision is a few.
  private static let maximumAnswer = 64 * 1024

  /// Asks once, within the rule's time.
  func ask(_ query: RemoteQuery) async -> RemoteAnswer {
    guard let transport else { return .failed }
    var fields: Fields = ["Content-Type": "application/json", "Accept": "application/json"]
    if let trace = RequestContext.current?.trace { fields["traceparent"] = trace.child().traceparent }
    let request = OutboundRequest(
      method: .post, url: query.remote.url, fields: fields,
      content: JSONValue(query.document).serialized(),
      timeout: .milliseconds(query.remote.timeoutMilliseconds), maximumContentLength: Self.maximumAnswer)
    let failure: String
    do throws(TransportError) {
      let response = try await transport.send(request)
      if response.status == 200 {
        let answer = Self.answer(in: response.content)
        if answer != .failed { return answer }
        failure = "an answer that says neither yes nor no"
      } else {
        failure = "status \(response.status)"
      }
    } catch {
      failure = "\(error.reason.rawValue): \(error.detail)"
    }
    log?.write(
      .warning, "a remote policy did not decide; on_failure does",
      ["rule": query.rule, "on_failure": query.remote.onFailure.rawValue, "error.message": failure])
    return .failed
  }

  private static func answer(in content: [UInt8]) -> RemoteAnswer {
    do throws(JSONError) {
      let answer = RemoteAnswer(reading: FactValue(try JSONValue(parsing: content)))
      if case .deny(let reason?) = answer { return .deny(reason: printable(reason)) }
      return answer
    } catch {
      return .failed
    }
  }
}

extension RemotePolicies {
  /// A reason as the audit line may hold it: not endless, and without a number long enough to be a telephone's,
  /// which a policy may quote from its question.
  static func printable(_ reason: String) -> String {
    var result = ""
    var rest = String.UnicodeScalarView(reason.unicodeScalars.prefix(256))[...]
    while let scalar = rest.first {
      let run = rest.prefix(while: isInNumber)
      if !("0"..."9").contains(scalar) || run.isEmpty {
        result.unicodeScalars.append(scalar)
        rest = rest.dropFirst()
      } else if let date = date(at: run) {
        result += String(date)
        rest = rest[date.endIndex...]
      } else {
        result += masked(run)
        rest = rest[run.endIndex...]
      }
    }
    return result
  }

  /// Digits, and what people write between those of a telephone number.
  private static func isInNumber(_ scalar: Unicode.Scalar) -> Bool {
    ("0"..."9").contains(scalar) || " -./()\u{A0}\u{2010}\u{2011}\u{2013}".unicodeScalars.contains(scalar)
  }

  /// A day as `2026-12-25`, which is no telephone number.
  private static func date(at run: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView? {
    let date = run.prefix(10)
    let shape = date.map { ("0"..."9").contains($0) ? "0" : "\($0)" }.joined()
    guard shape == "0000-00-00", run.dropFirst(10).first.map({ !("0"..."9").contains($0) }) ?? true else {
      return nil
    }
    return date
  }

  /// A run with its digits hidden, if there are six of them at a stretch, or eight in all.
  private static func masked(_ run: Substring.UnicodeScalarView) -> String {
    let stretches = run.split { !("0"..."9").contains($0) }.map(\.count)
    let isLong = stretches.contains { $0 >= 6 } || stretches.reduce(0, +) >= 8
    var shown = String.UnicodeScalarView()
    for scalar in run { shown.append(isLong && ("0"..."9").contains(scalar) ? "*" : scalar) }
    return String(shown)
  }
}

extension JSONValue {
  /// A fact as JSON.
  init(_ fact: FactValue) {
    switch fact {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .string(let text): self = .string(text)
    case .number(let text): self = Self.number(text)
    case .array(let values): self = .array(values.map(JSONValue.init))
    case .object(let members):
      var object = JSONObject()
      for member in members { object.append(member.name, JSONValue(member.value)) }
      self = .object(object)
    }
  }

  /// A number by its text. One that is none, which no JSON or YAML brings here, stays the text it is.
  private static func number(_ text: String) -> JSONValue {
    do throws(JSONError) {
      let value = try JSONValue(parsing: Array(text.utf8))
      if case .number = value { return value }
    } catch {}
    return .string(text)
  }
}
