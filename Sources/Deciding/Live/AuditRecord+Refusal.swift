// Adds the refusal to an audit record when a request is refused before the rules.

package import Gate
import Records

extension AuditRecord {
  /// Records that the request was refused before any rule.
  package mutating func note(_ refusal: Decider.Refusal, _ policy: Policy) {
    verdicts = policy.skipped
    app = refusal.app
    reason = refusal.reason
  }
}
