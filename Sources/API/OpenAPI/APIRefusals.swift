// Groups problem codes that share a status into one response of the API description.

import HTTP
import JSON

/// The refusals of an operation with one status.
struct APIRefusals: Sendable {
  let codes: [Problem.Code]
  let status: Int

  /// Groups codes by status, in the order of the statuses.
  static func grouped(_ codes: [Problem.Code]) -> [APIRefusals] {
    Set(codes.map(\.status.code)).sorted().map { status in
      APIRefusals(codes: codes.filter { $0.status.code == status }, status: status)
    }
  }

  /// A name for the component: the codes themselves.
  var name: String {
    codes.map { code in
      code.rawValue.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }.joined(separator: "Or")
  }

  /// The codes and their titles.
  var description: String { codes.map { "`\($0.rawValue)`: \($0.title)." }.joined(separator: "\n\n") }

  /// The headers besides `X-Request-Id`.
  var fields: [APIField] {
    var fields: [APIField] = [.noStore]
    if status == 401 { fields.append(.challenge) }
    if codes.contains(.invalidProof) { fields.append(.proofNonce) }
    if status == 405 { fields.append(.allow) }
    if codes.contains(where: { $0.retries == .always }) {
      fields.append(codes.allSatisfy { $0.retries == .always } ? .retryAfter : APIField.retryAfter.atTimes)
    } else if codes.contains(where: { $0.retries == .atTimes }) {
      fields.append(APIField.retryAfter.atTimes)
    }
    if status == 429 { fields += APIField.allowances }
    return fields
  }

  /// The problem document, with an example for each of these codes. All problems share one schema: generators
  /// make one type of it, which also accepts later codes.
  var content: JSONValue {
    var examples = JSONObject()
    for code in codes {
      examples[code.rawValue] = ["$ref": .string("#/components/examples/\(code.rawValue)")]
    }
    return ["schema": ["$ref": "#/components/schemas/Problem"], "examples": .object(examples)]
  }
}

extension Problem.Code {
  enum Retries { case always, atTimes, never }

  /// Whether a refusal has `Retry-After`: always, sometimes or never.
  var retries: Retries {
    switch status.code {
    case 429, 503: .always
    default: self == .closed || self == .inProgress || self == .noAgents ? .atTimes : .never
    }
  }
}
