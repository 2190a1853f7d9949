// The findings of `callgate probe`, one for each request, and the exit status that follows.

import JSON

/// The outcome of a probe. Contains no credential and no token.
public struct ProbeReport: Sendable {
  /// The verdict on a request. The probe's verdict is the first in this order that any request has.
  public enum Verdict: String, Sendable, CaseIterable {
    /// The response is not what a Callgate server returns: another program responds, a request that must fail
    /// succeeds, or a part of the response is wrong.
    case surprise
    /// The request that should be allowed is refused, because of the credential, a rule or an operator.
    case refused
    /// No response, or the server cannot serve requests.
    case unreachable
    /// The response is as expected.
    case ok
  }

  /// A request and its result.
  public struct Line: Sendable {
    /// The method and path.
    public let request: String
    public let purpose: String
    public let verdict: Verdict
    /// The response's status; nil without a response.
    public let status: Int?
    /// The finding, in words.
    public let found: String
    public let milliseconds: Int64
  }

  /// One line for each request, in the order sent.
  public internal(set) var lines: [Line] = []

  /// The verdict on the whole probe.
  public var verdict: Verdict {
    Verdict.allCases.first { verdict in lines.contains { $0.verdict == verdict } } ?? .unreachable
  }

  /// The report as one JSON object.
  public var json: String {
    let document: JSONObject = [
      "status": .string(verdict.rawValue),
      "requests": .array(
        lines.map { line in
          [
            "request": .string(line.request), "purpose": .string(line.purpose),
            "result": .string(line.verdict.rawValue),
            "status": line.status.map { .number(JSONNumber(Int64($0))) } ?? .null,
            "found": .string(line.found),
            "duration_ms": .number(JSONNumber(line.milliseconds)),
          ]
        }),
    ]
    return String(decoding: JSONValue.object(document).serialized(), as: UTF8.self)
  }
}
