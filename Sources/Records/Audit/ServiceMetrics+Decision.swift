// Counts a decision in the metrics when its audit line is written.

import API
import Gate
import Metrics

extension ServiceMetrics {
  /// Counts a decision whose audit line is written.
  @inline(__always) func decided(_ record: borrowing AuditRecord, lane: Int) {
    if let ownership = record.ownership { numberProofs.count(ownership.rawValue) }
    // A denial or error without a code is an appointment that its owner did not confirm, or whose time passed
    // before the first attempt. The metric of callbacks by outcome counts it.
    guard record.outcome != nil, record.outcome == .allow || record.code != nil else { return }
    let action = record.action.number
    let code = record.code.map { $0.number + 1 } ?? 0
    decisions.count(action: action, code: code, rule: record.rule, lane: lane)
    guard record.verdicts.hasObjection else { return }
    for verdict in record.verdicts where verdict.verdict == .wouldDeny {
      decisions.countObjection(action: action, rule: verdict.rule, lane: lane)
    }
  }
}
