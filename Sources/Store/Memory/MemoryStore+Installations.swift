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

  public func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) -> InstallationOutcome<Result> {
    installed.withLock { installed in
      let (result, succession) = installed.change(scope, at: now, body)
      let ended = succession.map { succession in callbacks.withLock { $0.succeed(succession, at: now) } }
      return InstallationOutcome(result, ended: ended ?? [])
    }
  }

  /// The same without the appointments that ended.
  @discardableResult
  public func changeInstallation<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) -> Result {
    change(scope, at: now, body).result
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
