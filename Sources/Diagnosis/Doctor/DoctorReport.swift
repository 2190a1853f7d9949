// The findings of `callgate doctor`, one for each check, and the exit status that follows.

import JSON

/// The findings of a diagnosis. Contains no secret and no token.
public struct DoctorReport: Sendable {
  /// The finding of one check.
  public struct Finding: Sendable {
    /// The result of a check.
    public enum Status: String, Sendable {
      /// The check found no fault.
      case ok
      /// The checked part works, but an operator should look at it.
      case warn
      /// The checked part does not work.
      case fail
      /// The check was not possible.
      case skip
    }

    /// The check's fixed name.
    public let check: String
    public let status: Status
    /// The finding, on one line.
    public let found: String
    /// The fix; nil if there is nothing to fix.
    public let fix: String?
    /// The kind of a failure, for the exit status; nil if the check did not fail.
    let cause: Verdict?
  }

  /// The overall result: the failure to fix first.
  public enum Verdict: Sendable, CaseIterable {
    /// The configuration, or this machine's set-up, is wrong.
    case configuration
    /// Talkdesk ID or another service refuses a credential or request.
    case refused
    /// Talkdesk ID or another service was not reached, or cannot respond.
    case unreachable
    /// A fault of this program.
    case `internal`
    /// Nothing failed; there may be warnings.
    case well
  }

  /// The findings, in the order of the checks.
  public private(set) var findings: [Finding] = []

  public var verdict: Verdict {
    let causes = Set(findings.compactMap(\.cause))
    return Verdict.allCases.first { causes.contains($0) } ?? .well
  }

  /// The number of findings with a status.
  public func count(_ status: Finding.Status) -> Int { findings.count { $0.status == status } }

  mutating func ok(_ check: String, _ found: String) { add(check, .ok, found, nil, nil) }
  mutating func skip(_ check: String, _ found: String) { add(check, .skip, found, nil, nil) }
  mutating func warn(_ check: String, _ found: String, fix: String) { add(check, .warn, found, fix, nil) }
  mutating func fail(_ check: String, _ found: String, fix: String, _ cause: Verdict) {
    add(check, .fail, found, fix, cause)
  }

  private mutating func add(
    _ check: String, _ status: Finding.Status, _ found: String, _ fix: String?, _ cause: Verdict?
  ) {
    findings.append(Finding(check: check, status: status, found: found, fix: fix, cause: cause))
  }

  /// The report as one JSON object.
  public var json: String {
    let status: Finding.Status = count(.fail) > 0 ? .fail : count(.warn) > 0 ? .warn : .ok
    let document: JSONObject = [
      "status": .string(status.rawValue),
      "checks": .array(
        findings.map { finding in
          var check: JSONObject = [
            "check": .string(finding.check), "status": .string(finding.status.rawValue),
            "found": .string(finding.found),
          ]
          if let fix = finding.fix { check["fix"] = .string(fix) }
          return .object(check)
        }),
    ]
    return String(decoding: JSONValue.object(document).serialized(), as: UTF8.self)
  }
}
