// The store's operations on installations, run in database sessions.

package import Gate
package import JOSE

extension QueuedStore {
  package func installation(_ id: InstallationID) async throws(StoreError) -> Installation? {
    try await rows(InstallationStatements.installation, .id(id.id)).first
  }

  package func installation(key: SHA256Digest) async throws(StoreError) -> Installation? {
    try await rows(InstallationStatements.withKey, .bytes(key.bytes)).first
  }

  package func enrolment(userCode: String, at now: Instant) async throws(StoreError) -> Enrolment? {
    try await rows(InstallationStatements.withCode, .text(userCode), .time(now)).first
  }

  package func certainInstallation(_ id: InstallationID) async throws(StoreError) -> Installation? {
    try await settleDoubts()
    return try await installation(id)
  }

  package func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant, receipts: @escaping ReceiptReader,
    onOutcome: @escaping @Sendable (InstallationOutcome<Result>) -> Void,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> InstallationOutcome<Result> {
    if scope.takes { try health.checkClock() }
    return try await sessions.call(.updates) { session throws(StoreError) in
      try session.changeInstallation(scope, at: now, receipts: receipts, onOutcome: onOutcome, body)
    }
  }

  package func confirmRevocation(_ id: InstallationID, at revokedAt: Instant) async throws(StoreError) {
    _ = try await sessions.call(.updates) { session throws(StoreError) in
      try session.change([ChangeCall(InstallationStatements.confirmRevocation, .id(id.id), .time(revokedAt))])
    }
  }

  package func touchInstallations(_ uses: [InstallationID: Instant]) async throws(StoreError) {
    try await sessions.call(.updates) { session throws(StoreError) in try session.touchInstallations(uses) }
  }

  package func installations(subject: String, at now: Instant) async throws(StoreError) -> [InstallationID] {
    try await rows(
      InstallationStatements.ofSubject, .text(subject), .optional(InstallationID(subject)?.id), .time(now))
  }

  package func installations(_ query: InstallationQuery) async throws(StoreError) -> InstallationPage {
    let limit = ColumnValue.integer(Int64(query.limit) + 1)
    let entries: [InstallationEntry]
    switch query.state {
    case .active, .revoked:
      // No installation has the id of zeros.
      let after = query.after.flatMap { StoreID(hex: $0) } ?? StoreID(high: 0, low: 0)
      let page = InstallationStatements.page(isRevoked: query.state == .revoked)
      entries = try await rows(page, .id(after), limit).map { .installation($0) }
    case .pending, .approved, .denied:
      let after = query.after.flatMap { Hex.decode($0) } ?? []
      let time = query.state == .denied ? Instant(seconds: 0) : query.now
      entries = try await rows(InstallationStatements.page(query.state), .bytes(after), .time(time), limit)
        .map { .enrolment($0) }
    }
    return InstallationPage(cutting: entries, to: query.limit)
  }

  package func installationCounts(at now: Instant) async throws(StoreError) -> InstallationCounts {
    var counts =
      try await rows(InstallationStatements.enrolmentCounts, .time(now)).first ?? InstallationCounts()
    counts.counts[.active] = try await countInstallations(isRevoked: false)
    counts.counts[.revoked] = try await countInstallations(isRevoked: true)
    return counts
  }

  private func countInstallations(isRevoked: Bool) async throws(StoreError) -> Int {
    let (last, rest) = InstallationStatements.portion(isRevoked: isRevoked)
    // No installation has the id of zeros.
    var after = StoreID(high: 0, low: 0)
    var count = 0
    while let next = try await rows(last, .id(after)).first {
      after = next
      count += RowCounts.portion
    }
    return try await count + (rows(rest, .id(after)).first ?? 0)
  }

  @discardableResult
  package func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant])
    async throws(StoreError)
    -> Int
  {
    let removed = try await purge(
      InstallationStatements.purgeEnrolments, upTo: now.nanosecondsSinceEpoch)
    return try await removed
      + inPortions { session, most throws(StoreError) in
        try session.purgeInstallations(unusedSince: unused, most: most)
      }
  }
}
