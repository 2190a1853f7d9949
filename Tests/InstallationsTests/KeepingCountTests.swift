// Tests of the periodic work on installations: saving their last uses, and counting them.

import Gate
import JOSE
import Platform
import Sealing
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Installations

@Suite(.timeLimit(.minutes(1))) struct KeepingCountTests {
  private let store = TouchyStore()
  private let time = ManualTime()

  private func service() -> InstallationService {
    let keys = StoreKeys(current: StoreKey(Secret([UInt8](repeating: 7, count: 32))))
    return InstallationService(
      store: store, directory: InstallationDirectory(store: store, clock: time),
      codes: InstallationCodes(keys: keys), clock: time, .none)
  }

  private func put() async throws -> Installation {
    let now = Instant(time.unixTime)
    let installation = Installation(
      client: InstallationClient(
        id: InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!, app: "Shop", detail: nil),
      appID: "shop", user: nil, address: "192.0.2.1", secret: SHA256Digest(of: [1]), generation: 1,
      createdAt: now, usedAt: now)
    try await store.base.changeInstallation(InstallationScope(installation.client.id), at: now) { _ in
      (InstallationChange(installation: installation), ())
    }
    return installation
  }

  @Test func `installations are counted although their last uses cannot be saved`() async throws {
    let service = service()
    use(try await put(), service)
    store.isDown.store(true, ordering: .relaxed)
    let work = Task { await service.keepCounted() }
    try await time.untilSleepers(1)
    #expect(service.counts.latest?[.active] == 1)
    work.cancel()
    await work.value
  }

  @Test func `the last uses are saved when the work ends`() async throws {
    let service = service()
    let installation = try await put()
    let work = Task { await service.keepCounted() }
    try await time.untilSleepers(1)
    let used = use(installation, service)
    work.cancel()
    await work.value
    #expect(try await store.base.installation(installation.client.id)?.usedAt == used)
  }

  /// Uses an installation two hours later, by the wall clock alone.
  @discardableResult
  private func use(_ installation: Installation, _ service: InstallationService) -> Instant {
    time.stepWallClock(by: 7200)
    let now = Instant(time.unixTime)
    service.directory.used(installation, InstallationTerms())
    return now
  }
}

/// A store in memory that can refuse to save last uses.
private final class TouchyStore: StoreDecorator {
  let base = memoryStore()
  let isDown = Atomic<Bool>(false)

  func touchInstallations(_ uses: [InstallationID: Instant]) async throws(StoreError) {
    if isDown.load(ordering: .relaxed) { throw StoreError(.unavailable, "connect", "connection refused") }
    try await base.touchInstallations(uses)
  }
}
