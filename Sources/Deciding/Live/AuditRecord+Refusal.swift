// How an audit record notes that an app was refused before any rule.

package import Gate
import Records

extension AuditRecord {
  /// Notes that the request is refused before any rule is asked.
  package mutating func note(_ refusal: Decider.Refusal, _ policy: Policy) {
    verdicts = policy.skipped
    app = refusal.app
    reason = refusal.reason
  }
}
