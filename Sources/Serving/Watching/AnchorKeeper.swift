// Writes an anchor of the audit chain each minute, and saves the last one in the store.

import JOSE
package import Platform
package import Records
package import Store

/// The job that anchors the audit chain. If the last lines of the file are removed, the store still has a
/// later anchor than the file.
package struct AnchorKeeper: Sendable {
  private let trail: AuditTrail
  private let store: any Store

  /// Makes a job that saves anchors of `trail` in `store`.
  package init(_ trail: AuditTrail, in store: any Store) {
    self.trail = trail
    self.store = store
  }

  /// Runs until its task is canceled. Saves only anchors that are on the disk, so that after a crash the
  /// store never has a later anchor than the file.
  package func run(_ clock: any TimeSource) async {
    var saved: AuditTrail.RecordedAnchor?
    var next = clock.now + .seconds(60)
    while await clock.hasSlept(until: clock.now + .seconds(1)) {
      if clock.now >= next {
        trail.anchor(.minute)
        next = clock.now + .seconds(60)
      }
      if let last = trail.lastAnchor, last != saved, await save(last) { saved = last }
    }
  }

  /// Ends the chain, and saves its last anchor.
  package func end() async {
    _ = trail.close(within: .seconds(1))
    if let last = trail.lastAnchor { _ = await save(last) }
  }

  /// Saves an anchor. Returns false if the store failed; `run` tries again a second later.
  private func save(_ anchor: AuditTrail.RecordedAnchor) async -> Bool {
    do {
      try await store.save(
        StoredAnchor(
          boot: anchor.boot, sequence: anchor.sequence, code: Base64URL.encode(anchor.code),
          follows: trail.follows.map { Base64URL.encode($0) }))
      return true
    } catch {
      return false
    }
  }
}
