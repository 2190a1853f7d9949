// Tests of how the server remembers passwords that were right at an address.

import Gate
import JOSE
import Platform
import StoreSupport
import TestSupport
import Testing

@testable import Callers
@testable import Store

@Suite struct LoginMemoryTests {
  private let store = memoryStore()
  private let time = ManualTime()
  private static let key = Secret([UInt8](repeating: 1, count: 32))
  private static let home = "203.0.113.9"

  private func login(
    _ password: String = "right", at address: String = home, by caller: String = "app", name: String = "user"
  ) throws -> LoginMemory.Login {
    LoginMemory.Login(
      callerID: caller, name: Array(name.utf8), password: SHA256Digest(of: Array(password.utf8)),
      address: try #require(IPAddress(address)), time: Instant(time.unixTime))
  }

  /// The login memory after a start of the server.
  private func start(key: Secret? = key, over other: (any Store)? = nil) async -> LoginMemory {
    let memory = LoginMemory(store: other ?? store, key: key, clock: time)
    await memory.refresh()
    return memory
  }

  private var rows: [StoredLogin] {
    get async throws { try await store.logins(since: Instant(seconds: 0)) }
  }

  @Test func `a password that was right at an address is known there after a restart, and nowhere else`()
    async throws
  {
    try await store.migrate()
    let first = await start()
    #expect(try !first.knows(login()))
    first.note(try login())
    #expect(try first.knows(login()), "at once, before the store has it")
    await first.refresh()
    let second = await start()
    #expect(try second.knows(login()))
    #expect(try !second.knows(login("wrong")))
    #expect(try !second.knows(login(at: "203.0.113.10")))
    #expect(try !second.knows(login(by: "")))
    #expect(try !second.knows(login(by: "other")))
    #expect(try !second.knows(login(name: "other")))
  }

  @Test func `another instance knows of a login after its next read`() async throws {
    try await store.migrate()
    let (first, second) = (await start(), await start())
    let running = Task { await second.run() }
    try await time.untilSleepers(1)
    first.note(try login())
    await first.refresh()
    time.advance(by: .seconds(2))
    try await time.untilSleepers(1)
    #expect(try second.knows(login()))
    running.cancel()
    await running.value
  }

  @Test func `a customer's IPv6 network is one address`() async throws {
    try await store.migrate()
    let memory = await start()
    memory.note(try login(at: "2001:db8::1"))
    #expect(try memory.knows(login(at: "2001:db8::ffff:1:2:3")))
    #expect(try !memory.knows(login(at: "2001:db8:0:1::1")))
    // An IPv4 address must not be mistaken for an IPv6 network with the same bytes.
    memory.note(try login(at: "0.0.0.1"))
    #expect(try !memory.knows(login(at: "0:0:0:1::1")))
  }

  @Test func `the store learns sixteen bits of a password, the same at every address`() async throws {
    try await store.migrate()
    let memory = await start()
    for host in 1...5 { memory.note(try login(at: "203.0.113.\(host)")) }
    await memory.refresh()
    let rows = try await rows
    #expect(Set(rows.map(\.id)).count == 5)
    #expect(Set(rows.map(\.credential)).count == 1)
    #expect(Set(rows.map(\.caller)) == ["app"])
    // With another key, every ID and digest differs.
    let other = await start(key: Secret([UInt8](repeating: 2, count: 32)))
    #expect(try !other.knows(login(at: "203.0.113.1")))
    other.note(try login(at: "203.0.113.1"))
    await other.refresh()
    let all = try await self.rows
    #expect(all.count == 6)
    #expect(Set(all.map(\.credential)).count == 2)
  }

  @Test func `without a store key the instances agree on a random one`() async throws {
    try await store.migrate()
    let first = await start(key: nil)
    first.note(try login())
    await first.refresh()
    #expect(try await start(key: nil).knows(login()))
    #expect(try await !start().knows(login()))
    #expect(try await store.sharedSecret("logins", or: []).count == 32)
  }

  @Test func `a login is written once a day, and counts for thirty days`() async throws {
    try await store.migrate()
    let memory = await start()
    let first = Instant(time.unixTime)
    memory.note(try login())
    await memory.refresh()
    time.advance(by: .seconds(86_399))
    memory.note(try login())
    await memory.refresh()
    #expect(try await rows.map(\.last) == [first])
    time.advance(by: .seconds(1))
    memory.note(try login())
    await memory.refresh()
    #expect(try await rows.map(\.last) == [first.advanced(by: .seconds(86_400))])
    time.advance(by: .seconds(30 * 86_400 - 1))
    #expect(try memory.knows(login()))
    #expect(try await start().knows(login()))
    time.advance(by: .seconds(1))
    #expect(try !memory.knows(login()))
    await memory.refresh()
    #expect(try await !start().knows(login()))
  }

  @Test func `a changed password is written at once, and the old one is no longer known`() async throws {
    try await store.migrate()
    let memory = await start()
    memory.note(try login("old"))
    await memory.refresh()
    time.advance(by: .seconds(1))
    memory.note(try login("new"))
    await memory.refresh()
    let other = await start()
    #expect(try other.knows(login("new")))
    #expect(try !other.knows(login("old")))
    #expect(try await rows.count == 1)
  }

  @Test func `while the store is away an instance knows its own logins, and saves them later`() async throws {
    try await store.migrate()
    let scripted = ScriptedStore(store, sharing: .instances)
    let memory = await start(over: scripted)
    scripted.setDown(true)
    memory.note(try login())
    await memory.refresh()
    #expect(try memory.knows(login()))
    #expect(try await rows == [])
    scripted.setDown(false)
    await memory.refresh()
    #expect(try await rows.count == 1)
  }

  @Test func `a store that is away at the start is read when it is back`() async throws {
    try await store.migrate()
    let first = await start(key: nil)
    first.note(try login())
    await first.refresh()
    let scripted = ScriptedStore(store, sharing: .instances)
    scripted.setDown(true)
    let second = await start(key: nil, over: scripted)
    #expect(try !second.knows(login()))
    scripted.setDown(false)
    await second.refresh()
    #expect(try second.knows(login()))
  }

  @Test func `no row gets a time of a wrong clock`() async throws {
    try await store.migrate()
    let skewed = SkewedStore(store, time)
    let memory = await start(over: skewed)
    #expect(!skewed.health.isClockRight, "not compared yet")
    memory.note(try login())
    skewed.health.compared(clockAhead: .seconds(11))
    memory.note(try login())
    skewed.health.compared(clockAhead: .zero)
    await memory.refresh()
    #expect(try await rows == [])
    memory.note(try login())
    await memory.refresh()
    #expect(try await rows.count == 1)
  }

  @Test func `of more than 10,000 logins an instance forgets the oldest, too`() async throws {
    try await store.migrate()
    let memory = await start()
    memory.note(try login())
    for number in 0..<10_000 {
      if number == 0 { time.advance(by: .seconds(1)) }
      memory.note(try login(at: "\(IPAddress(v4: 0x0A00_0000 + UInt32(number)))"))
    }
    #expect(try memory.knows(login()))
    await memory.refresh()
    #expect(try !memory.knows(login()))
    #expect(try memory.knows(login(at: "10.0.0.0")))
    #expect(try await rows.count == 10_000)
  }
}

/// A store whose clock may differ from this machine's.
private final class SkewedStore: StoreDecorator {
  let base: any Store
  let health: StoreHealth

  init(_ base: any Store, _ clock: any TimeSource) {
    self.base = base
    health = StoreHealth(clock: clock, hasClock: true)
  }
}
