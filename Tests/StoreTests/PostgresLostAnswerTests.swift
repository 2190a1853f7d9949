// Tests of transactions whose COMMIT was sent but not answered.

import DatabaseURL
import Foundation
import Gate
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore
@testable import Store

/// A change whose COMMIT was not answered takes effect once if it was committed. Otherwise it is repeated, or
/// certainly did not happen.
@Suite(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
struct PostgresLostAnswerTests {
  /// A database, and a store that connects to it through a proxy on one connection.
  private struct Place {
    let server: PostgresServer
    let name: String
    let proxy: CuttingProxy
    let store: PostgresStore

    init(connections: Int = 1) async throws {
      server = try PostgresServer.shared.get()
      let address = try server.database()
      name = try #require(address.text.split(separator: "/").last.map(String.init))
      let direct = PostgresStore(address)
      try await direct.migrate()
      await direct.close()
      proxy = try CuttingProxy(to: server.port)
      store = PostgresStore(try proxy.address(name), connections: connections)
      try await store.ping()
    }

    func query(_ sql: String) throws -> String {
      try server.query(name, sql).trimmingCharacters(in: .newlines)
    }

    func end() async {
      proxy.close()
      await store.close()
    }
  }

  /// The error of a call that must fail.
  private func failure(_ body: () async throws -> Void) async throws -> StoreError {
    try #require(await #expect(throws: StoreError.self) { try await body() })
  }

  // MARK: Callbacks

  @Test(arguments: [("k", 60.0), ("k", 0), (nil, 60), (nil, 0)])
  func `a begin whose commit was not answered has begun`(_ key: String?, _ window: Double) async throws {
    let place = try await Place()
    let intent = CallbackIntent.made(key: key, window: .seconds(window))
    place.proxy.cut([.afterCommit])
    #expect(try await place.store.begin(intent, at: .noon()) == .begun)
    #expect(place.proxy.count == 1)
    #expect(try place.query("SELECT count(*) FROM callgate_callback WHERE status = 'pending'") == "1")
    // The callback has begun, and other requests learn that.
    let again = CallbackIntent.made(key: key, window: .seconds(window))
    let said = try await place.store.begin(again, at: .noon())
    #expect(said == (key != nil ? .inProgress(intent.id) : window > 0 ? .duplicate(intent.id) : .begun))
    #expect(try await place.store.settle(intent.id, .accepted())?.status == .accepted)
    await place.end()
  }

  @Test func `many begins whose commits were not answered begin once each, and one of equal ones`()
    async throws
  {
    let place = try await Place(connections: 3)
    place.proxy.cut(Array(repeating: .afterCommit, count: 3))
    let begun = await withTaskGroup(of: CallbackBeginning?.self) { group in
      for number in 0..<120 {
        let intent = CallbackIntent.made("+141555501\(10 + number % 60)", key: "\(number % 60)")
        group.addTask { try? await place.store.begin(intent, at: .noon()) }
      }
      return await group.reduce(into: 0) { count, said in if said == .begun { count += 1 } }
    }
    #expect(begun == 60)
    #expect(place.proxy.count > 0)
    #expect(try place.query("SELECT count(*) FROM callgate_callback") == "60")
    await place.end()
  }

  @Test func `a settlement and a withdrawal whose commits were not answered are done`() async throws {
    let place = try await Place()
    let (first, second) = (CallbackIntent.made(key: "k"), CallbackIntent.made("+14155550166", key: "l"))
    #expect(try await place.store.begin(first, at: .noon()) == .begun)
    #expect(try await place.store.begin(second, at: .noon()) == .begun)
    place.proxy.cut([.afterCommit])
    let settled = try await place.store.settle(first.id, .accepted())
    #expect(settled?.status == .accepted)
    place.proxy.cut([.afterCommit])
    try await place.store.withdraw(second.id)
    #expect(place.proxy.count == 2)
    let repeated = CallbackIntent.made(key: "k")
    #expect(try await place.store.begin(repeated, at: .noon()) == .replay(try #require(settled)))
    #expect(try await place.store.begin(.made("+14155550166", key: "l"), at: .noon()) == .begun)
    await place.end()
  }

  @Test(arguments: [("k", 60.0), (nil, 0)])
  func `what was begun in doubt is withdrawn for good, also where it is committed only later`(
    _ key: String?, _ window: Double
  ) async throws {
    let place = try await Place()
    let intent = CallbackIntent.made(key: key, window: .seconds(window))
    place.proxy.cut([.beforeCommit], thenRefuses: true)
    let error = try await failure { _ = try await place.store.begin(intent, at: .noon()) }
    #expect(error.isInDoubt)
    // The proxy accepts connections again while the COMMIT is still on its way: nobody can know its outcome
    // yet.
    place.proxy.refuse(false)
    try await retry { try await place.store.ping() }
    #expect(place.proxy.held == 1)
    let early = try await failure { try await place.store.withdraw(intent.id) }
    #expect(early.kind == .unavailable && !early.isInDoubt)
    place.proxy.release(passesOn: true)
    try await retry { try await place.store.withdraw(intent.id) }
    #expect(place.proxy.held == 0)
    #expect(try place.query("SELECT count(*) FROM callgate_callback") == "0")
    let again = CallbackIntent.made(key: key, window: .seconds(window))
    #expect(try await place.store.standing(of: again, at: .noon()).duplicate == nil)
    #expect(try await place.store.begin(again, at: .noon()) == .begun)
    await place.end()
  }

  @Test func `what was begun in doubt and never committed is withdrawn when its transaction is gone`()
    async throws
  {
    let place = try await Place()
    let intent = CallbackIntent.made(key: "k")
    place.proxy.cut([.beforeCommit], thenRefuses: true)
    let error = try await failure { _ = try await place.store.begin(intent, at: .noon()) }
    #expect(error.isInDoubt)
    // The connection was refused, so certainly nothing was saved.
    let second = try await failure { _ = try await place.store.begin(.made("+14155550166"), at: .noon()) }
    #expect(!second.isInDoubt)
    place.proxy.refuse(false)
    place.proxy.release(passesOn: false)
    try await retry { try await place.store.withdraw(intent.id) }
    #expect(try await place.store.begin(.made(key: "k"), at: .noon()) == .begun)
    #expect(try place.query("SELECT count(*) FROM callgate_callback") == "1")
    await place.end()
  }

  @Test func `of many that are withdrawn at once one waits for what is in doubt`() async throws {
    let place = try await Place(connections: 3)
    place.proxy.cut([.beforeCommit], thenRefuses: true)
    let intent = CallbackIntent.made(key: "k")
    #expect(try await failure { _ = try await place.store.begin(intent, at: .noon()) }.isInDoubt)
    place.proxy.refuse(false)
    try await retry { try await place.store.ping() }
    let errors = place.store.health.errors
    let clock = ContinuousClock()
    let start = clock.now
    let failed = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<200 {
        group.addTask { await kind { try await place.store.withdraw(intent.id) } == .unavailable }
      }
      return await group.reduce(into: 0) { count, isFailed in count += isFailed ? 1 : 0 }
    }
    #expect(failed == 200)
    // The store is healthy. Only a transaction is open.
    #expect(place.store.health.failure == nil && place.store.health.errors == errors)
    // One after the other would take half a minute.
    #expect(clock.now - start < .seconds(15))
    place.proxy.release(passesOn: false)
    try await retry { try await place.store.withdraw(intent.id) }
    await place.end()
  }

  // MARK: Stops

  @Test func `a stop or resume whose commit was not answered is in doubt, unless it is made again`()
    async throws
  {
    let place = try await Place()
    let stop = Stop(.all, .all, since: 5)
    place.proxy.cut([.afterCommit])
    try await place.store.stop(stop)
    place.proxy.cut([.afterCommit])
    try await place.store.resume(.all, .access)
    #expect(place.proxy.count == 2)
    place.proxy.cut([.afterCommit], thenRefuses: true)
    let error = try await failure { try await place.store.resume(.all, .all) }
    #expect(error.isInDoubt)
    // The connection was refused, so certainly nothing was saved.
    let refused = try await failure { try await place.store.stop(stop) }
    #expect(!refused.isInDoubt)
    place.proxy.refuse(false)
    try await retry { try await place.store.ping() }
    #expect(try await place.store.stops().isEmpty)
    await place.end()
  }

  @Test func `a stop committed late changes nothing, and one confirmed meanwhile stays in effect`()
    async throws
  {
    let place = try await Place()
    let other = PostgresStore(try place.server.address(place.name))
    place.proxy.cut([.beforeCommit], thenRefuses: true)
    #expect(try await failure { try await place.store.stop(Stop(.all, .all, since: 5)) }.isInDoubt)
    #expect(place.proxy.held == 1)
    // This stop waits until the server has ended the other transaction.
    let kept = Stop(.app("shop"), .access, since: 6)
    try await other.stop(kept)
    place.proxy.release(passesOn: true)
    try await eventually { place.proxy.held == 0 }
    #expect(try await other.stops().list == [kept])
    await other.close()
    await place.end()
  }

  @Test func `changes of stops come one after the other over all instances`() async throws {
    let place = try await Place(connections: 3)
    let other = PostgresStore(try place.server.address(place.name))
    await withTaskGroup(of: Void.self) { group in
      for turn in 0..<40 {
        group.addTask {
          let store: any Store = turn % 2 == 0 ? place.store : other
          await #expect(throws: Never.self) {
            try await store.stop(Stop(.all, .all, since: 5))
            try await store.resume(.all, .all)
          }
        }
      }
    }
    #expect(try await other.stops().isEmpty)
    await other.close()
    await place.end()
  }

  // MARK: Installations

  @Test(arguments: [true, false])
  func `whether a revocation in doubt was made is known for certain`(_ isCommitted: Bool) async throws {
    let place = try await Place()
    try await place.store.putInstallation(1, user: "ann")
    let made = Mutex(0)
    place.proxy.cut([.beforeCommit], thenRefuses: true)
    let error = try await failure {
      _ = try await place.store.change(
        InstallationScope(.numbered(1)), at: .noon(1), receipts: { _, _ in nil },
        onOutcome: { _ in made.withLock { $0 += 1 } }
      ) { view in
        var revoked = view.installation
        revoked?.revokedAt = .noon(1)
        return (InstallationChange(installation: revoked), ())
      }
    }
    #expect(error.isInDoubt)
    #expect(made.withLock { $0 } == 1)
    place.proxy.refuse(false)
    try await retry { try await place.store.ping() }
    // The COMMIT is still on its way: nobody can know its outcome yet.
    let early = try await failure { _ = try await place.store.certainInstallation(.numbered(1)) }
    #expect(early.kind == .unavailable && !early.isInDoubt)
    place.proxy.release(passesOn: isCommitted)
    try await retry { _ = try await place.store.certainInstallation(.numbered(1)) }
    let certain = try #require(try await place.store.certainInstallation(.numbered(1)))
    #expect(certain.revokedAt == (isCommitted ? .noon(1) : nil))
    await place.end()
  }

  // MARK: Allowances

  @Test func `what was taken without an answer is taken once, and granted`() async throws {
    let place = try await Place()
    let charges = try Allowances([
      try Allowances.quota(limit: 2), try Allowances.rate(limit: 2, per: 3600, burst: 2),
    ]).charges(at: .noon())
    for _ in 0..<2 {
      place.proxy.cut([.afterCommit])
      #expect(try await place.store.take(charges, at: .noon()).isTaken)
    }
    #expect(place.proxy.count == 2)
    #expect(try await place.store.take(charges, at: .noon()).isRefused)
    #expect(try await place.store.states(of: charges.map(\.key))[0]?.count == 2)
    await place.end()
  }

  @Test func `what was given back without an answer is given back once`() async throws {
    let place = try await Place()
    let charges = try Allowances([try Allowances.quota(limit: 100)]).charges(at: .noon())
    var receipts: [AllowanceReceipt] = []
    for _ in 0..<5 { receipts = try #require(try await place.store.take(charges, at: .noon()).receipts) }
    let ledger = AllowanceLedger(store: place.store)
    place.proxy.cut([.afterCommit])
    await ledger.giveBack(receipts, at: .noon(1))
    #expect(place.proxy.count == 1)
    #expect(try await place.store.states(of: charges.map(\.key))[0]?.count == 4)
    // The receipt is given back once even if the check afterwards is not answered either.
    place.proxy.cut([.afterCommit], thenRefuses: true)
    await ledger.giveBack(receipts, at: .noon(1))
    place.proxy.refuse(false)
    try await retry { try await place.store.ping() }
    #expect(try await place.store.states(of: charges.map(\.key))[0]?.count == 3)
    await place.end()
  }

  @Test
  func `however often answers are lost, no more is in use than the limit, and nothing is given back twice`()
    async throws
  {
    let place = try await Place(connections: 3)
    let limit = 6
    let charges = try Allowances([try Allowances.quota(limit: Int64(limit))]).charges(at: .noon())
    let tally = Tally()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<12 {
        group.addTask {
          while !tally.isOver {
            do {
              guard case .taken(let receipts) = try await place.store.take(charges, at: .noon()) else {
                continue
              }
              tally.use(1)
              await Task.yield()
              tally.use(-1)
              do {
                try await place.store.giveBack(receipts, at: .noon(1))
              } catch {
                tally.lose()
              }
            } catch {
              // The allowance may stay counted.
              tally.lose()
            }
          }
        }
      }
      group.addTask {
        for _ in 0..<3000 where place.proxy.count < 20 {
          place.proxy.cut([.afterCommit])
          try? await Task.sleep(for: .milliseconds(10))
        }
        place.proxy.cut([])
        tally.end()
      }
    }
    #expect(place.proxy.count >= 20)
    #expect(tally.most <= limit)
    let count = try await place.store.states(of: charges.map(\.key))[0]?.count ?? 0
    #expect((0...Int64(tally.lost)).contains(count), "\(count)")
    await place.end()
  }

  // MARK: Marks

  @Test func `marks of connections that have ended are forgotten an hour later`() async throws {
    let place = try await Place()
    let charges = try Allowances([try Allowances.quota(limit: 100)]).charges(at: .noon())
    #expect(try await place.store.take(charges, at: .noon()).isTaken)
    #expect(try await place.store.take(charges, at: .noon()).isTaken)
    #expect(try place.query("SELECT number FROM callgate_commit") == "2")
    try await place.store.purge(at: .noon())
    #expect(try place.query("SELECT count(*) FROM callgate_commit") == "1")
    _ = try place.query("UPDATE callgate_commit SET at = at - interval '61 min'")
    try await place.store.purge(at: .noon())
    #expect(try place.query("SELECT count(*) FROM callgate_commit") == "0")
    #expect(try await place.store.take(charges, at: .noon()).isTaken)
    await place.end()
  }
}

/// The number of allowances in use, and of those that may have stayed counted.
private final class Tally: Sendable {
  private let state = Mutex((now: 0, most: 0, lost: 0, isOver: false))
  var isOver: Bool { state.withLock { $0.isOver } }
  func end() { state.withLock { $0.isOver = true } }
  var most: Int { state.withLock { $0.most } }
  var lost: Int { state.withLock { $0.lost } }
  func lose() { state.withLock { $0.lost += 1 } }
  func use(_ count: Int) {
    state.withLock { state in
      state.now += count
      state.most = max(state.most, state.now)
    }
  }
}
