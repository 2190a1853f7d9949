// The findings of `callgate probe`, one for each request, and the exit status that follows.

import JSON

/// The outcome of a probe. Holds no credential and no token.
public struct ProbeReport: Sendable {
  /// The verdict. Of several the first in this order counts.
  public enum Verdict: String, Sendable, CaseIterable {
    /// The response is not this server's: another program responds, or a request that must fail succeeds.
    case surprise
    /// The request that was to be allowed is refused: by the credential, by a rule, or by an operator.
    case refused
    /// No answer, or the server cannot serve.
    case unreachable
    /// Everything is as it should be.
    case ok
  }

  /// One request.
  public struct Line: Sendable {
    /// Method and path.
    public let request: String
    /// Why it is made.
    public let purpose: String
    /// The verdict.
    public let verdict: Verdict
    /// The status; nil without an answer.
    public let status: Int?
    /// The finding, in words.
    public let found: String
    /// How long it took.
    public let milliseconds: Int64
  }

  /// The requests, in their order.
  public internal(set) var lines: [Line] = []

  /// The verdict.
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
