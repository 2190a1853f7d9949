// Tests of how many store operations the built-in limits add to a callback.

import Gate
import Platform
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Callers
@testable import Configuration
@testable import Deciding
@testable import RoomSupport

/// How often brakes make a callback wait for a store.
@Suite struct BrakeTripTests {
  private let now = Instant(seconds: 1_795_003_200)  // 2026-11-18T12:00:00Z

  private func decider(_ rules: String, _ store: any Store, brakes: String = "{}") throws -> Decider {
    let yaml = "callbacks: { brakes: \(brakes) }\n" + (rules.isEmpty ? "" : "rules:\n\(rules)")
    return Decider(
      apps: AppRegistry([]), policy: try Fixture.load(yaml).configuration.policy,
      stops: StopBoard(store: store, clock: SystemClock()), ledger: AllowanceLedger(store: store),
      remotes: RemotePolicies(transport: nil, log: nil))
  }

  private func facts(_ last: Int, after seconds: Int64 = 0) throws -> Facts {
    Facts(
      action: .callback, callerID: "a", address: nil, phone: try E164("+1415555010\(last)"),
      instant: Instant(seconds: now.seconds + seconds))
  }

  private func ruling(_ decider: Decider, _ facts: Facts) async throws -> Ruled {
    try await decider.ruled(facts, taking: true)
  }

  /// The store operations of each of several callbacks.
  private func trips(_ rules: String, brakes: String) async throws -> [(reads: Int, updates: Int)] {
    var trips: [(Int, Int)] = []
    let store = ScriptedStore(sharing: .instances)
    let decider = try decider(rules, store, brakes: brakes)
    for number in 0..<4 {
      let before = (store.reads, store.updates)
      #expect(try await ruling(decider, try facts(number, after: Int64(number) * 10)).grant != nil)
      trips.append(
        (
          store.reads - before.0, store.updates - before.1
        ))
    }
    return trips
  }

  @Test(arguments: [
    "  - { name: mine, kind: quota, key: caller, limit: 100, per: day }",
    "  - { name: mine, kind: rate, key: global, limit: 100, per: 1m }",
  ])
  func `with another allowance there is no trip more`(rule: String) async throws {
    let with = try await trips(rule, brakes: "{}")
    let without = try await trips(rule, brakes: "off")
    #expect(with.map(\.reads) == without.map(\.reads))
    #expect(with.map(\.updates) == without.map(\.updates))
  }

  @Test func `brakes alone are taken in one transaction, and nothing is read before`() async throws {
    for trip in try await trips("", brakes: "{}") { #expect(trip.reads == 0 && trip.updates == 1) }
    for trip in try await trips("", brakes: "off") { #expect(trip.reads == 0 && trip.updates == 0) }
  }

  @Test func `in memory the figures are the same`() async throws {
    let decider = try decider("", memoryStore(), brakes: "{ number_per_day: 2 }")
    for _ in 0..<2 { #expect(try await ruling(decider, try facts(0)).grant != nil) }
    let denial = try await ruling(decider, try facts(0)).denial
    #expect(denial?.rule == "brake-number" && denial?.retryAfter == 12 * 3600)
    #expect(try await decider.ruled(try facts(1), taking: false).grant?.receipts.isEmpty == true)
    #expect(try await decider.ruled(try facts(0), taking: false).denial?.rule == "brake-number")
  }

  @Test func `through a store the figures are the same`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let decider = try decider("", store, brakes: "{ number_per_day: 2, per_5m: 3 }")
    var rulings: [Ruled] = []
    for number in [0, 0, 0, 1, 2] { rulings.append(try await ruling(decider, try facts(number))) }
    #expect(
      rulings.map { $0.denial?.rule } == [nil, nil, "brake-number", nil, "brake-burst"])
    #expect(rulings[4].denial?.retryAfter == 100)
    #expect(!rulings.contains { !$0.statuses.isEmpty }, "no fields tell of brakes")
    // An allowance that was given back can be taken again, even by another instance.
    await decider.ledger.giveBack(try #require(rulings[3].grant).receipts, at: now)
    let other = try self.decider("", store, brakes: "{ number_per_day: 2, per_5m: 3 }")
    #expect(try await ruling(other, try facts(0)).denial?.rule == "brake-number")
    #expect(try await ruling(other, try facts(2)).grant != nil)
    #expect(try await ruling(other, try facts(3)).denial?.rule == "brake-burst")
  }

  @Test func `without its store a brake refuses every callback`() async throws {
    let store = ScriptedStore(sharing: .instances)
    store.setDown(true)
    let denial = try await ruling(try decider("", store), try facts(0)).denial
    #expect(denial?.code == .storeUnavailable && denial?.rule == "brake-number")
  }

  @Test func `the time to retry covers hours and brakes`() async throws {
    let hours =
      "  - { name: lunch, kind: hours, timezone: UTC, weekly: { mon-sun: [\"00:00-12:00\", \"13:00-24:00\"] } }"
    let store = ScriptedStore(sharing: .instances)
    let decider = try decider(hours, store, brakes: "{ number_per_day: 1 }")
    #expect(try await ruling(decider, try facts(0, after: -60)).grant != nil)
    let other = try await ruling(decider, try facts(1)).denial
    #expect(other?.code == .closed && other?.retryAfter == 3600)
    let denial = try await ruling(decider, try facts(0)).denial
    #expect(denial?.code == .closed && denial?.retryAfter == 12 * 3600)
  }
}
