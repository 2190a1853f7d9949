// Prepares the JSON of every possible verdict, because each audit line contains the verdicts of all rules.

import Texts

/// A JSON object for each rule and each verdict, made when the policy is read.
struct VerdictTexts: Sendable {
  private static let verdicts: [Verdict] = [.allow, .deny, .wouldDeny, .skipped]

  /// The objects in sequence, each after a comma: all verdicts of the first rule in the order of their raw
  /// values, then those of the next rule.
  private let octets: [UInt8]
  /// The index of each object's comma, and the end of the last object.
  private let starts: [Int]
  /// The maximum size of the verdicts of all rules together, in octets.
  let mostOctets: Int

  /// - Parameter names: The names of rules. They contain nothing that JSON must escape (`Rule.init`).
  init(_ names: [String]) {
    var octets: [UInt8] = []
    var starts = [0]
    var most = 0
    for name in names {
      var longest = 0
      for verdict in Self.verdicts {
        precondition(Int(verdict.rawValue) == (starts.count - 1) % Self.verdicts.count)
        octets += #",{"rule":"\#(name)","verdict":"\#(verdict.word)"}"#.utf8
        longest = max(longest, octets.count - starts[starts.count - 1])
        starts.append(octets.count)
      }
      most += longest
    }
    self.octets = octets
    self.starts = starts
    mostOctets = most
  }

  /// Appends a rule's verdict.
  /// - Parameter isFirst: Whether to leave out the comma before the verdict.
  @inline(__always) func append(
    _ verdict: Verdict, of rule: Int, isFirst: Bool, to output: inout OutputSpan<UInt8>
  ) {
    let text = rule * Self.verdicts.count + Int(verdict.rawValue)
    let start = starts[text] + (isFirst ? 1 : 0)
    output.append(octets: octets.span.extracting(start..<starts[text + 1]))
  }
}

extension RuleVerdicts {
  /// The maximum number of octets that `appendObjects` appends.
  public var mostOctets: Int { policy.verdictTexts.mostOctets }

  /// Appends the verdicts as the elements of a JSON array, each an object with `rule` and `verdict`.
  public func appendObjects(to output: inout OutputSpan<UInt8>) {
    let marks = marks.span
    for index in marks.indices {
      let rule = policy.index(at: index, among: marks.count) ?? policy.entries.count + (isBlocked ? 1 : 0)
      policy.verdictTexts.append(marks[index], of: rule, isFirst: index == 0, to: &output)
    }
  }
}
