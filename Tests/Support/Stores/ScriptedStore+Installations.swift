// The installations of a store for tests: those of the memory behind it.

package import Gate
package import Store

extension ScriptedStore {
  package func installation(_ id: InstallationID) -> Installation? { memory.installation(id) }
  package func enrolment(userCode: String, at now: Instant) -> Enrolment? {
    memory.enrolment(userCode: userCode, at: now)
  }
  package func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) -> InstallationOutcome<Result> {
    memory.change(scope, at: now, body)
  }
  package func touchInstallations(_ uses: [InstallationID: Instant]) { memory.touchInstallations(uses) }
  package func installations(subject: String) -> [InstallationID] { memory.installations(subject: subject) }
  package func installations(_ query: InstallationQuery) -> InstallationPage { memory.installations(query) }
  package func installationCounts(at now: Instant) -> InstallationCounts {
    memory.installationCounts(at: now)
  }
  package func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant]) -> Int {
    memory.purgeInstallations(at: now, unusedSince: unused)
  }
}
