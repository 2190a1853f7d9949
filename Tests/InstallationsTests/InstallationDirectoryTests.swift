// Tests of what an instance remembers of installations, while other instances change them.

import Gate
import JOSE
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Installations

@Suite struct InstallationDirectoryTests {
  private static let id = InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!
  private let store = PausingStore()
  private let time = ManualTime()
  private let directory: InstallationDirectory

  init() { directory = InstallationDirectory(store: store, clock: time) }

  /// Saves the installation as another instance would.
  @discardableResult
  private func put(
    _ generation: Int64, user: String? = "ann", isRevoked: Bool = false
  ) async throws -> Installation {
    let now = Instant(time.unixTime)
    let installation = Installation(
      client: InstallationClient(id: Self.id, app: "Shop", detail: nil), appID: "shop",
      user: user.map { InstallationUser(callerID: "users", subject: $0) }, address: "192.0.2.1",
      secret: SHA256Digest(of: [UInt8(generation)]), generation: generation, createdAt: now, usedAt: now,
      revokedAt: isRevoked ? now : nil)
    try await store.base.changeInstallation(InstallationScope(Self.id), at: now) { _ in
      (InstallationChange(installation: installation), ())
    }
    return installation
  }

  @Test func `a phone that enrolled again at another instance is not taken for revoked`() async throws {
    let first = try await put(1)
    _ = try await directory.look(Self.id)
    let second = try await put(2)
    #expect(directory.known(Self.id, now: time.now)?.installation == first)
    #expect(try await directory.holds(second))
    _ = try await put(3)
    #expect(try await directory.holds(InstallationIdentity(Self.id, generation: 3)))
  }

  @Test func `a record that is cached spares the store the question for a second`() async throws {
    let first = try await put(1)
    #expect(try await directory.holds(first))
    #expect(try await directory.holds(first.identity))
    #expect(store.reads == 1)
    try await put(1, isRevoked: true)
    time.advance(by: .seconds(1))
    #expect(try await !directory.holds(first))
    #expect(try await !directory.holds(first.identity))
  }

  @Test func `an appointment goes over to the next installation of its owner alone`() async throws {
    let first = try await put(1).identity
    let ann = InstallationUser(callerID: "users", subject: "ann")
    func holds(_ app: String? = "shop") async throws -> Bool {
      try await directory.holds(first, orIsOf: ann, appID: app)
    }
    #expect(try await holds())
    try await put(2)
    time.advance(by: .seconds(1))
    #expect(try await holds())
    #expect(try await !holds("bank"))
    #expect(try await !holds(nil))
    try await put(2, isRevoked: true)
    time.advance(by: .seconds(1))
    #expect(try await !holds())
    try await put(3, user: "bob")
    #expect(try await !holds())
    try await put(4, user: nil)
    #expect(try await !holds())
  }

  @Test func `a read that began before the cache was cleared is not cached`() async throws {
    let first = try await put(1)
    let old = store.pause()
    async let look = directory.look(Self.id)
    await old.began()
    time.advance(by: .milliseconds(1))
    // The installation is revoked here. Then so many others change that nothing is known about this one.
    directory.forget(Self.id)
    for number in 0..<InstallationDirectory.capacity {
      let end = String(number + 1_000_000)
      directory.forget(try #require(InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7\(end)")))
    }
    time.advance(by: .milliseconds(1))
    old.proceed(with: first)
    #expect(try await look?.installation == first)
    #expect(directory.known(Self.id, now: time.now) == nil)
  }

  @Test func `a read that began before a change here does not bring the old record back`() async throws {
    let first = try await put(1)
    let old = store.pause()
    async let look = directory.look(Self.id)
    await old.began()
    time.advance(by: .milliseconds(1))
    try await put(1, isRevoked: true)
    directory.forget(Self.id)
    time.advance(by: .milliseconds(1))
    old.proceed(with: first)
    #expect(try await look?.installation == first)
    #expect(directory.known(Self.id, now: time.now) == nil)
    #expect(try await !directory.holds(first))
  }
}

/// A store whose reads of installations wait, if a test says so, and then return what the test says.
private final class PausingStore: StoreDecorator {
  /// A read that waits.
  final class Pause: Sendable {
    private let begun = AsyncStream<Void>.makeStream()
    private let answer = AsyncStream<Installation>.makeStream()

    func began() async { for await _ in begun.stream { return } }
    func proceed(with installation: Installation) { answer.continuation.yield(installation) }

    func wait() async -> Installation? {
      begun.continuation.yield()
      for await installation in answer.stream { return installation }
      return nil
    }
  }

  let base = memoryStore()
  private let state = Mutex<(pause: Pause?, reads: Int)>((nil, 0))

  /// Number of installations read.
  var reads: Int { state.withLock { $0.reads } }

  /// Makes the next read wait.
  func pause() -> Pause {
    let pause = Pause()
    state.withLock { $0.pause = pause }
    return pause
  }

  func installation(_ id: InstallationID) async throws(StoreError) -> Installation? {
    let pause = state.withLock { state in
      state.reads += 1
      defer { state.pause = nil }
      return state.pause
    }
    if let pause { return await pause.wait() }
    return try await base.installation(id)
  }
}
