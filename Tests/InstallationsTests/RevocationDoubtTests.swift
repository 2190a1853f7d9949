// Tests of revocations and enrollments whose commit was not answered.

import Gate
import JOSE
import Sealing
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Installations

@Suite struct RevocationDoubtTests {
  private static let id = InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!
  private let store = SilentStore()
  private let time = ManualTime()
  private let steps = Steps()

  /// What the service wants to find out later.
  private final class Steps: Sendable {
    private let waiting = Mutex<[@Sendable () async throws(StoreError) -> Void]>([])

    func add(_ step: @escaping @Sendable () async throws(StoreError) -> Void) {
      waiting.withLock { $0.append(step) }
    }

    /// Runs what waits, and returns how many steps there were.
    func run() async throws -> Int {
      let steps = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      for step in steps { try await step() }
      return steps.count
    }
  }

  private func service() -> InstallationService {
    InstallationService(
      store: store, directory: InstallationDirectory(store: store, clock: time),
      codes: InstallationCodes(keys: StoreKeys(current: StoreKey(Secret([UInt8](repeating: 7, count: 32))))),
      clock: time,
      InstallationConsequences(
        receipts: { _, _ in [] }, complete: { _ in }, findOut: { [steps] _, step in steps.add(step) }))
  }

  private func put() async throws -> Installation {
    let now = Instant(time.unixTime)
    let installation = Installation(
      client: InstallationClient(id: Self.id, app: "Shop", detail: nil), appID: "shop",
      user: InstallationUser(callerID: "users", subject: "ann"), address: "192.0.2.1",
      secret: SHA256Digest(of: [1]), generation: 1, createdAt: now, usedAt: now)
    try await store.base.changeInstallation(InstallationScope(Self.id), at: now) { _ in
      (InstallationChange(installation: installation), ())
    }
    return installation
  }

  private func failure(_ body: () async throws -> Void) async throws -> InstallationService.Failure {
    try #require(await #expect(throws: InstallationService.Failure.self) { try await body() })
  }

  @Test(arguments: [SilentStore.Fate.committed, .lost])
  func `a revocation without an answer is found out, and may be repeated`(
    _ fate: SilentStore.Fate
  ) async throws {
    let service = service()
    _ = try await put()
    let found = Mutex<[Int]>([])
    store.set(fate)
    let failure = try await failure {
      try await service.revoke(Self.id) { revoked in found.withLock { $0.append(revoked.cancelled) } }
    }
    guard case .store(let error) = failure else { throw failure }
    #expect(error.isInDoubt)
    store.set(.fine)
    #expect(try await steps.run() == 1)
    #expect(found.withLock { $0 } == (fate == .committed ? [0] : []))
    // At any instance.
    #expect(try await service.installations(subject: "ann") == [Self.id])
    try await self.service().revoke(Self.id)
    #expect(try await store.base.installation(Self.id)?.revokedAt != nil)
    // The second one of a revocation that was certain finds nothing.
    if fate == .lost {
      guard case .refused(.unknown) = try await self.failure({ try await service.revoke(Self.id) }) else {
        Issue.record("revoked twice")
        return
      }
    }
  }

  @Test func `a revocation that was made is found out though its phone has enrolled again since`()
    async throws
  {
    let service = service()
    let before = try await put()
    var intent = CallbackIntent(
      id: CallbackID(at: Instant(time.unixTime)), callerID: "users", subject: "ann", appID: "shop",
      contact: try E164("+14155550165"), key: nil,
      terms: .init(dedupeWindow: .zero, keyRetention: .seconds(3600), retention: .seconds(3600)),
      deadline: Instant(time.unixTime).advanced(by: .seconds(900)))
    intent.installation = before.identity
    let booking = Booking(
      intent: intent, at: Instant(time.unixTime).advanced(by: .seconds(600)), slot: 0, content: [],
      limits: .init(perSlot: 9, perNumber: 9))
    #expect(try await store.base.book(booking, at: Instant(time.unixTime)) == .booked)
    let found = Mutex<[Int]>([])
    store.set(.committed)
    _ = try await failure {
      try await service.revoke(Self.id) { revoked in found.withLock { $0.append(revoked.cancelled) } }
    }
    store.set(.fine)
    time.advance(by: .seconds(1))
    let next = Installation(
      client: before.client, appID: "shop", user: before.user, address: "192.0.2.1",
      secret: SHA256Digest(of: [2]), generation: 2, createdAt: Instant(time.unixTime),
      usedAt: Instant(time.unixTime))
    try await store.base.changeInstallation(InstallationScope(Self.id), at: Instant(time.unixTime)) { _ in
      (InstallationChange(installation: next), ())
    }
    #expect(try await steps.run() == 1)
    #expect(found.withLock { $0 } == [1])
  }
}

/// A store in memory whose changes of installations get no answer, if a test says so.
final class SilentStore: StoreDecorator {
  enum Fate { case fine, committed, lost }

  let base = memoryStore()
  private let fate = Mutex(Fate.fine)

  func set(_ next: Fate) { fate.withLock { $0 = next } }

  func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant, receipts: @escaping ReceiptReader,
    onOutcome: @escaping @Sendable (InstallationOutcome<Result>) -> Void,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> InstallationOutcome<Result> {
    let lost = StoreError(.unavailable, "receive", "lost", isInDoubt: true)
    let fate = fate.withLock { $0 }
    if fate == .lost {
      _ = try await base.change(scope, at: now) { view in
        let (_, result) = body(view)
        onOutcome(InstallationOutcome(result, ended: []))
        return (InstallationChange(), result)
      }
      throw lost
    }
    let outcome = try await base.change(scope, at: now, receipts: receipts, onOutcome: onOutcome, body)
    if fate == .committed { throw lost }
    return outcome
  }
}
