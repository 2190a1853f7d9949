// The order in which a server's parts start, drain and end.

import Metrics
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite struct PartTests {
  @Test func `a server has these parts in this order, and what a part uses comes before it`() async throws {
    let service = try RunningService(environment: ["CALLGATE_ALLOW_ANONYMOUS": "true"])
    #expect(
      service.parts == [
        "store", "clock", "audit", "records", "connections", "tokens", "upkeep", "logins", "issuers",
        "configuration", "appointments", "chat desks", "available agents", "installations", "attestations",
        "proofs", "claims",
        "notices", "outcomes", "report of calls", "agents", "activity", "attention", "operators' listener",
        "requests",
      ])
    _ = try await service.end()
  }

  @Test func `parts drain and end in the reverse order of their start, each after the one before has ended`()
    async throws
  {
    let events = Events()
    let parts = Parts(
      ["first", "second", "third"].map { name in
        Part(
          name: name,
          work: {
            events.add("\(name) works")
            _ = await SystemClock().hasSlept(until: SystemClock().now + .seconds(3600))
          },
          drain: { events.add("\(name) \($0)") },
          end: { work, limit in
            events.add("\(name) ends within \(limit)")
            work?.cancel()
            await work?.value
            events.add("\(name) ended")
          })
      })
    parts.start()
    try await eventually { events.all.count >= 3 }
    #expect(events.all.sorted() == ["first works", "second works", "third works"])
    events.forget()
    parts.drain(.announced)
    parts.drain(.closed)
    await parts.end(within: .seconds(7))
    let limit = "ends within 7.0 seconds"
    #expect(
      events.all == [
        "third announced", "second announced", "first announced",
        "third closed", "second closed", "first closed",
        "third \(limit)", "third ended", "second \(limit)", "second ended", "first \(limit)", "first ended",
      ])
  }

  @Test func `the parts of a server that never started end, too`() async {
    let events = Events()
    let parts = Parts([
      Part(name: "only", end: { work, _ in events.add(work == nil ? "without work" : "with work") })
    ])
    await parts.end(within: .zero)
    #expect(events.all == ["without work"])
  }

  private final class Events: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ event: String) { list.withLock { $0.append(event) } }
    func forget() { list.withLock { $0 = [] } }
  }
}
