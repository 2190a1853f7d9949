// Tests of revocations and enrollments whose commit was not answered.

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

@Suite struct RevocationDoubtTests {
  private static let id = InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!
  private let store = SilentStore()
  private let time = ManualTime()
  private let steps = Steps()

  /// The checks that the service postpones.
  private final class Steps: Sendable {
    private let waiting = Mutex<[@Sendable () async throws(StoreError) -> Void]>([])

    func add(_ step: @escaping @Sendable () async throws(StoreError) -> Void) {
      waiting.withLock { $0.append(step) }
    }

    /// Runs the waiting checks, and returns their number.
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
    // The revocation can be repeated at any instance.
    #expect(try await service.installations(subject: "ann") == [Self.id])
    try await self.service().revoke(Self.id)
    #expect(try await store.base.installation(Self.id)?.revokedAt != nil)
    // A second revocation finds nothing if the first was certain.
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

  // MARK: Enrollments

  private static let client = InstallationClient(id: id, app: "Shop", detail: nil)
  private static let address = IPAddress("192.0.2.1")!

  /// A grant to enroll, without rules.
  private func grant() throws -> Grant {
    let facts = Facts(
      action: .enrol, callerID: "users", subject: "ann", appID: "shop", address: nil, phone: nil,
      instant: Instant(time.unixTime))
    let decision = Policy(brakes: .off).decide(facts, states: FetchedStates())
    guard case .granted(_, let grant) = decision.settled(.taken([]), at: facts.instant) else {
      preconditionFailure("no rule objects")
    }
    return grant
  }

  /// How an enrollment is authorized.
  enum Authority: CaseIterable, Sendable { case user, attestation, operators }

  /// The first request for an installation, as it may be repeated.
  private func enrol(
    _ authority: Authority, _ service: InstallationService, since: Instant? = nil,
    _ onNotMade: @escaping @Sendable () async -> Void = {}
  ) async throws {
    let user = InstallationUser(callerID: "users", subject: "ann")
    let repeatable = service.codes.repeatable(
      SHA256Digest(of: [9]), appID: "shop", owner: authority == .user ? user : nil, since: since)
    let grant = try grant()
    let terms = InstallationTerms()
    switch authority {
    case .user:
      _ = try await service.install(
        grant, Self.client, terms, user: user, key: nil, address: Self.address, repeatable,
        onNotMade: onNotMade)
    case .attestation:
      _ = try await service.install(
        grant, Self.client, terms, replacing: nil, key: nil, address: Self.address, repeatable,
        onNotMade: onNotMade)
    case .operators:
      _ = try await service.open(
        grant, Self.client, terms, key: nil, address: Self.address, repeatable, onNotMade: onNotMade)
    }
  }

  /// What happens to the enrollment before the server checks.
  enum Since: CaseIterable, Sendable { case nothing, repeated, revoked }

  @Test(arguments: Authority.allCases, Since.allCases)
  func `an enrollment without an answer gives back what it took if it was not made`(
    _ authority: Authority, _ since: Since
  ) async throws {
    for fate in [SilentStore.Fate.committed, .lost] {
      let test = RevocationDoubtTests()
      let service = test.service()
      let returns = Mutex(0)
      test.store.set(fate)
      let start = Instant(test.time.unixTime)
      let failure = try await failure {
        try await test.enrol(authority, service) { returns.withLock { $0 += 1 } }
      }
      guard case .store(let error) = failure else { throw failure }
      #expect(error.isInDoubt)
      test.store.set(.fine)
      test.time.advance(by: .seconds(1))
      switch since {
      case .nothing: break
      // A repeated request uses an allowance of its own.
      case .repeated: try await test.enrol(authority, service, since: start)
      case .revoked where fate == .committed && authority != .operators: try await service.revoke(Self.id)
      case .revoked: break
      }
      #expect(try await test.steps.run() == 1)
      #expect(returns.withLock { $0 } == (fate == .lost ? 1 : 0), "\(fate)")
    }
  }

  @Test func `the secret of a request is that of its content, its app and its user alone`() {
    let codes = service().codes
    func secret(
      _ content: UInt8 = 1, app: String = "shop", user: String? = "ann", of caller: String = "users"
    ) -> String? {
      let owner = user.map { InstallationUser(callerID: caller, subject: $0) }
      return codes.repeatable(SHA256Digest(of: [content]), appID: app, owner: owner, since: nil)
        .values.first?.secret
    }
    #expect(secret() == secret())
    let all = [
      secret(), secret(2), secret(app: "bank"), secret(user: "ben"), secret(of: "others"),
      secret(user: nil),
      // The names only differ in where one ends and the next begins.
      secret(app: "shopu", of: "sers"), secret(user: "nn", of: "usersa"),
    ]
    #expect(Set(all).count == all.count)
  }

  @Test func `an enrollment that another one may have replaced gives nothing back`() async throws {
    let service = service()
    let returns = Mutex(0)
    store.set(.lost)
    _ = try await failure { try await enrol(.user, service) { returns.withLock { $0 += 1 } } }
    store.set(.fine)
    time.advance(by: .seconds(1))
    let user = InstallationUser(callerID: "users", subject: "ann")
    _ = try await service.install(
      try grant(), Self.client, InstallationTerms(), user: user, key: nil, address: Self.address)
    #expect(try await steps.run() == 1)
    #expect(returns.withLock { $0 } == 0)
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
