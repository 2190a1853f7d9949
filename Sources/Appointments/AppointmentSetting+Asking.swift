// Checks the rules for an appointment as if it were due at another time, for the choices of a dialog.

package import API
import Callers
package import Deciding
package import Gate
import HTTP
import Installations
package import Platform
package import Store

extension AppointmentSetting {
  /// The decision on an appointment as if it were due at `time`. Uses no allowance.
  ///
  /// - Throws: The problem of a stop, of a caller, app or installation that may no longer call, of a store
  ///   that fails, or of rules that cannot be evaluated now.
  package func ruling(
    on record: StoredCallback, _ content: AppointmentContent, at time: Instant, now: Instant,
    deadline: MonotonicTime
  ) async throws(Problem) -> Ruling {
    let objection: String?
    do throws(StoreError) { objection = try await self.objection(to: record, content) } catch {
      throw Problem(error)
    }
    if let objection { throw Problem(.denied, "No longer allowed: \(objection).") }
    do throws(Decider.Refusal) {
      _ = try decider.admit(
        content.applicant, to: .callback, app: content.appID.map { .value($0) } ?? .absent)
    } catch {
      throw error.problem
    }
    return try await decider.ruleAgain(
      content.facts(at: time, now: now), asking: .whenDue, deadline: deadline)
  }
}
