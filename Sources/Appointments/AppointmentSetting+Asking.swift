// Asks ahead what becomes of an appointment at another time.

package import API
import Callers
package import Deciding
package import Gate
import HTTP
package import Platform

extension AppointmentSetting {
  /// The decision on an appointment as if it were due at a time. Takes no allowance.
  ///
  /// - Throws: The problem of a stop, or of a caller or an app that is gone.
  package func ruling(
    on content: AppointmentContent, at time: Instant, now: Instant, deadline: MonotonicTime
  ) async throws(Problem) -> Ruling {
    if let objection = objection(to: content) { throw Problem(.denied, "Not any more: \(objection).") }
    do throws(Decider.Refusal) {
      _ = try decider.admit(
        content.callerID, to: .callback, app: content.appID.map { .value($0) } ?? .absent,
        installedFor: content.installation == nil ? nil : content.appID)
    } catch {
      throw error.problem
    }
    return try await decider.ruleAgain(
      content.facts(at: time, now: now), asking: .whenDue, deadline: deadline)
  }
}
