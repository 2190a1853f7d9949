// Notes a refusal before the rules in an audit record.

package import Gate
import Records

extension AuditRecord {
  /// Notes that the request is refused before any rule.
  package mutating func note(_ refusal: Decider.Refusal, _ policy: Policy) {
    verdicts = policy.skipped
    app = refusal.app
    reason = refusal.reason
  }
}
