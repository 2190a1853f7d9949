// The installation operations of the PostgreSQL store.

public import Gate
public import Store

extension PostgresStore {
  public func installation(_ id: InstallationID) async throws(StoreError) -> Installation? {
    try await sessions.call(.reads) { session throws(StoreError) in try session.installation(id) }
  }

  public func enrolment(userCode: String, at now: Instant) async throws(StoreError) -> Enrolment? {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.enrolment(userCode: userCode, at: now)
    }
  }

  public func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> InstallationOutcome<Result> {
    try await sessions.call(.updates) { session throws(StoreError) in
      try session.changeInstallation(scope, at: now, body)
    }
  }

  public func touchInstallations(_ uses: [InstallationID: Instant]) async throws(StoreError) {
    try await sessions.call(.updates) { session throws(StoreError) in try session.touchInstallations(uses) }
  }

  public func installations(subject: String) async throws(StoreError) -> [InstallationID] {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.installations(subject: subject)
    }
  }

  public func installations(_ query: InstallationQuery) async throws(StoreError) -> InstallationPage {
    try await sessions.call(.reads) { session throws(StoreError) in try session.installations(query) }
  }

  public func installationCounts(at now: Instant) async throws(StoreError) -> InstallationCounts {
    try await sessions.call(.reads) { session throws(StoreError) in try session.installationCounts(at: now) }
  }

  @discardableResult
  public func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant])
    async throws(StoreError)
    -> Int
  {
    var total = 0
    while true {
      let removed = try await sessions.call(.updates) { session throws(StoreError) in
        try session.purgeInstallations(at: now, unusedSince: unused, most: 2000)
      }
      total += removed
      if removed < 2000 { return total }
    }
  }
}
