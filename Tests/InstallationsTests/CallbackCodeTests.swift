// Tests of the codes that callbacks of installations carry, and of whether an installation is still active.

import Gate
import JOSE
import Platform
import Sealing
import Store
import StoreSupport
import TestSupport
import Testing

@testable import Installations

@Suite struct CallbackCodeTests {
  private static let keys = StoreKeys(current: StoreKey(Secret([UInt8](repeating: 7, count: 32))))
  private let store = memoryStore()
  private let time = ManualTime()
  private let directory: InstallationDirectory
  private let service: InstallationService

  init() {
    directory = InstallationDirectory(store: store, clock: time)
    service = InstallationService(
      store: store, directory: directory, codes: InstallationCodes(keys: Self.keys), clock: time,
      .none)
  }

  /// Saves an installation with a secret.
  private func put(secret: UInt8 = 1, generation: Int64 = 5, isRevoked: Bool = false) async throws
    -> Installation
  {
    let now = Instant(time.unixTime)
    let installation = Installation(
      client: InstallationClient(
        id: InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!, app: "Shop", detail: nil),
      appID: "shop", user: nil, address: "192.0.2.1", secret: SHA256Digest(of: [secret]),
      generation: generation,
      createdAt: now, usedAt: now, revokedAt: isRevoked ? now : nil)
    try await store.changeInstallation(InstallationScope(installation.client.id), at: now) { _ in
      (InstallationChange(installation: installation), ())
    }
    return installation
  }

  @Test func `each callback gets the code of the next counter`() async throws {
    let installation = try await put()
    let codes = InstallationCodes(keys: Self.keys)
    for counter: Int64 in 0..<3 {
      #expect(
        try await service.callbackCode(installation) == codes.callbackCode(installation, counter: counter))
    }
    #expect(Set((0..<3).map { codes.callbackCode(installation, counter: $0) }).count == 3)
    #expect(codes.callbackCode(installation, counter: 0).wholeMatch(of: /[0-9]{6}/) != nil)
  }

  @Test func `an installation that was revoked or replaced gets no code, and no counter is spent`()
    async throws
  {
    let proved = try await put()
    _ = try await put(secret: 2, generation: 6)
    await refuses(proved)
    #expect(try await store.installation(proved.client.id)?.codes.counter == 0)
    await refuses(try await put(isRevoked: true))
  }

  private func refuses(_ installation: Installation) async {
    do throws(InstallationService.Failure) {
      _ = try await service.callbackCode(installation)
      Issue.record("a code was made")
    } catch {
      guard case .refused(.unknown) = error else {
        Issue.record("\(error)")
        return
      }
    }
  }

  @Test func `a code is tied to its callback`() throws {
    let codes = InstallationCodes(keys: Self.keys)
    let (first, second) = (CallbackID(at: Instant(seconds: 1)), CallbackID(at: Instant(seconds: 1)))
    let sealed = try codes.seal("755224", for: first)
    #expect(try codes.open(sealed, of: first) == "755224")
    #expect(throws: StoreKeys.Failure.broken) { try codes.open(sealed, of: second) }
    #expect(throws: StoreKeys.Failure.malformed) { try codes.open([1, 2], of: first) }
    let other = InstallationCodes(
      keys: StoreKeys(current: StoreKey(Secret([UInt8](repeating: 8, count: 32)))))
    #expect(throws: StoreKeys.Failure.self) { try other.open(sealed, of: first) }
  }

  @Test func `that an installation is active is known for a second, and then read again`() async throws {
    let proved = try await put()
    #expect(try await directory.holds(proved))
    _ = try await put(isRevoked: true)
    time.advance(by: .milliseconds(999))
    #expect(try await directory.holds(proved), "another instance has revoked it just now")
    time.advance(by: .milliseconds(1))
    #expect(try await !directory.holds(proved))
  }

  @Test func `an installation that was replaced or is gone does not hold`() async throws {
    let proved = try await put()
    _ = try await put(secret: 2)
    #expect(try await !directory.holds(proved))
    let unknown = InstallationDirectory(store: memoryStore(), clock: time)
    #expect(try await !unknown.holds(proved))
  }

  @Test func `a code for a callback does not make authentication ask the store again`() async throws {
    let installation = try await put()
    #expect(try await directory.look(installation.client.id) != nil)
    _ = try await service.callbackCode(installation)
    #expect(directory.known(installation.client.id, now: time.now) != nil)
    try await service.revoke(installation.client.id)
    #expect(directory.known(installation.client.id, now: time.now) == nil)
  }
}
