// The installation operations of the store in memory.

public import Gate
import Synchronization

extension MemoryStore {
  public func installation(_ id: InstallationID) -> Installation? {
    installed.withLock { $0.installation(id) }
  }

  public func enrolment(userCode: String, at now: Instant) -> Enrolment? {
    installed.withLock { $0.enrolment(userCode: userCode, at: now) }
  }

  public func changeInstallation<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) -> Result {
    installed.withLock { $0.change(scope, at: now, body) }
  }

  public func touchInstallations(_ uses: [InstallationID: Instant]) { installed.withLock { $0.touch(uses) } }

  public func installations(subject: String) -> [InstallationID] {
    installed.withLock { $0.installations(subject: subject) }
  }

  public func installations(_ query: InstallationQuery) -> InstallationPage {
    installed.withLock { $0.page(query) }
  }

  public func installationCounts(at now: Instant) -> InstallationCounts {
    installed.withLock { $0.counts(at: now) }
  }

  @discardableResult
  public func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant]) -> Int {
    installed.withLock { $0.purge(at: now, unusedSince: unused) }
  }
}
