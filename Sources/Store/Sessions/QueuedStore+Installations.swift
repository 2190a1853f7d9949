// The installation operations of a store over database sessions.

package import Gate

extension QueuedStore {
  package func installation(_ id: InstallationID) async throws(StoreError) -> Installation? {
    try await sessions.call(.reads) { session throws(StoreError) in try session.installation(id) }
  }

  package func enrolment(userCode: String, at now: Instant) async throws(StoreError) -> Enrolment? {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.enrolment(userCode: userCode, at: now)
    }
  }

  package func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> InstallationOutcome<Result> {
    try await sessions.call(.updates) { session throws(StoreError) in
      try session.changeInstallation(scope, at: now, body)
    }
  }

  package func touchInstallations(_ uses: [InstallationID: Instant]) async throws(StoreError) {
    try await sessions.call(.updates) { session throws(StoreError) in try session.touchInstallations(uses) }
  }

  package func installations(subject: String) async throws(StoreError) -> [InstallationID] {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.installations(subject: subject)
    }
  }

  package func installations(_ query: InstallationQuery) async throws(StoreError) -> InstallationPage {
    try await sessions.call(.reads) { session throws(StoreError) in try session.installations(query) }
  }

  package func installationCounts(at now: Instant) async throws(StoreError) -> InstallationCounts {
    try await sessions.call(.reads) { session throws(StoreError) in try session.installationCounts(at: now) }
  }

  @discardableResult
  package func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant])
    async throws(StoreError)
    -> Int
  {
    try await inPortions { session, most throws(StoreError) in
      try session.purgeInstallations(at: now, unusedSince: unused, most: most)
    }
  }
}
