// A test of random histories: no callback gets the outcome of a call that was another one's.

import Foundation
import Gate
import Store
import Synchronization
import TestSupport
import Testing

/// Random callbacks to one person, their calls, and the events that report them: late, twice, out of order,
/// or never.
///
///     HISTORIES=10000   number of histories (300)
@Suite struct OutcomeHistoryTests {
  private static let count =
    ProcessInfo.processInfo.environment["HISTORIES"].flatMap { Int($0) } ?? rounds(300, of: 1000)
  private static let window = CallWindow(before: .seconds(10), after: .seconds(7200))
  /// Seconds after its arrival at which an event that matches no callback is tried again.
  private static let tries: [Double] = [0, 1, 3, 8, 20, 40, 60]

  private struct Tally {
    var told = 0, unambiguous = 0, known = 0, set = 0, wrong = 0

    /// The figures in docs/build/outcomes.md.
    var words: String {
      func share(_ part: Int, of whole: Int) -> String {
        String(format: "%.2f %%", whole == 0 ? 0 : 100 * Double(part) / Double(whole))
      }
      return
        "\(count) histories, \(set) outcomes, \(wrong) false (\(share(wrong, of: set))); of \(unambiguous) unambiguous ends "
        + "\(share(known, of: unambiguous)) known within 60 s"
    }

    mutating func add(_ other: Tally) {
      told += other.told
      unambiguous += other.unambiguous
      known += other.known
      set += other.set
      wrong += other.wrong
    }
  }

  private enum Step {
    case begin(Int)
    case settle(Int, CallbackSettlement)
    case event(EndedCall, of: Int?, try: Int)
  }

  /// Runs one history. A call whose callback is nil is foreign.
  private static func run(_ number: Int, isForeign: Bool, _ store: any Store) async throws -> Tally {
    var random = SeededGenerator(UInt64(number) * 2 + (isForeign ? 1 : 0))
    let contact = try E164("+1415\(5_000_000 + number)")
    let own = try E164("+18005550199")
    var steps: [(time: Double, step: Step)] = []
    var intents: [CallbackIntent] = []
    var handovers: [Double?] = []
    var calls: [Int: EndedCall] = [:]
    var firstTold: [Int: Double] = [:]
    func end(_ owner: Int?, _ name: String, start: Double, requested: Double = 0) {
      let talk = Int.random(in: 0...60, using: &random)
      let wait = Int.random(in: 0...40, using: &random)
      let end = start + Double(talk + wait) + 1
      let call = EndedCall(
        id: "\(number)-\(name)", contact: contact, talkdesk: own, start: .noon(start),
        outcome: CallOutcome(
          talk > 0 ? .reached : .notReached, source: .trigger, at: .noon(end), talkSeconds: talk,
          waitedSeconds: wait))
      if let owner { calls[owner] = call }
      guard Int.random(in: 0..<20, using: &random) > 0 else { return }
      for _ in 0...Int.random(in: 0...2, using: &random) {
        // However far apart the clocks are, the request comes first.
        let arrival =
          max(end, requested + 0.1)
          + Double.random(in: 0...(Bool.random(using: &random) ? 2 : 90), using: &random)
        if let owner { firstTold[owner] = min(firstTold[owner] ?? .infinity, arrival) }
        for (index, later) in tries.enumerated() {
          steps.append((arrival + later, .event(call, of: owner, try: index)))
        }
      }
    }
    var time = 0.0
    for index in 0..<Int.random(in: 1...4, using: &random) {
      time += Double.random(in: 0...(Bool.random(using: &random) ? 60 : 9000), using: &random)
      var intent = CallbackIntent.made(contact.text, window: .zero, at: .noon(time), deadline: 30)
      intent.talkdeskNumber = own
      intents.append(intent)
      steps.append((time, .begin(index)))
      let settled = time + Double.random(in: 0...25, using: &random)
      let fate = Int.random(in: 0..<10, using: &random)
      handovers.append(fate == 0 ? nil : time)
      let at = Instant.noon(settled)
      steps.append(
        (
          settled,
          .settle(index, fate == 0 ? .failed(at: at) : fate == 1 ? .unknown(at: at) : .accepted(at: at))
        )
      )
      guard fate > 0, Int.random(in: 0..<10, using: &random) > 0 else { continue }
      let delay = Double.random(in: -9...(Bool.random(using: &random) ? 30 : 7100), using: &random)
      end(index, "\(index)", start: time + delay, requested: time)
    }
    if isForeign { end(nil, "foreign", start: Double.random(in: 0...9000, using: &random)) }
    var knownAt: [Int: Double] = [:]
    for (time, step) in steps.enumerated().sorted(by: {
      $0.element.time == $1.element.time ? $0.offset < $1.offset : $0.element.time < $1.element.time
    }).map(\.element) {
      switch step {
      case .begin(let index): _ = try await store.begin(intents[index], at: .noon(time))
      case .settle(let index, let settlement): try await store.settle(intents[index].id, settlement)
      case .event(let call, _, _):
        if case .set(let record) = try await store.conclude(call, within: window, at: .noon(time)),
          let index = intents.firstIndex(where: { $0.id == record.id })
        {
          knownAt[index] = time
        }
      }
    }
    var tally = Tally()
    for (index, intent) in intents.enumerated() {
      let record = try #require(try await store.callback(intent.id, of: intent.callerID))
      if let outcome = record.outcome {
        tally.set += 1
        let truth = calls[index]?.outcome
        if truth?.at != outcome.at || truth?.state != outcome.state { tally.wrong += 1 }
      }
      guard let told = firstTold[index], let call = calls[index] else { continue }
      tally.told += 1
      let fitting = handovers.compactMap { $0 }.filter {
        (call.start.later(-7200)...call.start.later(10)).contains(.noon($0))
      }
      guard fitting.count == 1 else { continue }
      tally.unambiguous += 1
      if let known = knownAt[index], known <= told + 60 { tally.known += 1 }
    }
    return tally
  }

  private static func all(isForeign: Bool) async throws -> Tally {
    let (fixture, store) = try await StoreFixture.migrated(.memory)
    defer { fixture.end() }
    let tally = try await withThrowingTaskGroup(of: Tally.self) { group in
      var sum = Tally()
      for number in 0..<count {
        if number >= 16, let one = try await group.next() { sum.add(one) }
        group.addTask { try await run(number, isForeign: isForeign, store) }
      }
      for try await one in group { sum.add(one) }
      return sum
    }
    await store.close()
    return tally
  }

  @Test func `without foreign calls no outcome is false, and nearly every unambiguous end is known`()
    async throws
  {
    let tally = try await Self.all(isForeign: false)
    print("without foreign calls: \(tally.words)")
    #expect(tally.wrong == 0)
    #expect(tally.set > Self.count / 2 && tally.unambiguous > Self.count / 2)
    #expect(Double(tally.known) >= 0.99 * Double(tally.unambiguous))
  }

  @Test func `with a foreign call in each history some outcomes are false`() async throws {
    let tally = try await Self.all(isForeign: true)
    print("with a foreign call in each history: \(tally.words)")
    #expect(tally.wrong > 0, "otherwise the test above could not fail")
    #expect(Double(tally.wrong) < 0.3 * Double(tally.set))
  }
}
