// The installations of a store for tests: those of the memory behind it.

import Gate
import Store

extension DistantStore {
  func installation(_ id: InstallationID) -> Installation? { memory.installation(id) }
  func enrolment(userCode: String, at now: Instant) -> Enrolment? {
    memory.enrolment(userCode: userCode, at: now)
  }
  func changeInstallation<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) -> Result {
    memory.changeInstallation(scope, at: now, body)
  }
  func touchInstallations(_ uses: [InstallationID: Instant]) { memory.touchInstallations(uses) }
  func installations(subject: String) -> [InstallationID] { memory.installations(subject: subject) }
  func installations(_ query: InstallationQuery) -> InstallationPage { memory.installations(query) }
  func installationCounts(at now: Instant) -> InstallationCounts { memory.installationCounts(at: now) }
  func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant]) -> Int {
    memory.purgeInstallations(at: now, unusedSince: unused)
  }
}
