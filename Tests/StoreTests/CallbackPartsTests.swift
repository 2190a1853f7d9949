// Tests of the small parts behind callback records: IDs, hashes and queues.

import Gate
import Glibc
import Synchronization
import Testing

@testable import Store

@Suite struct CallbackPartsTests {
  @Test func `an id is a UUID of version 7 that reads back`() throws {
    let now = Instant(seconds: 1_795_176_000, nanoseconds: 123_999_999)
    let id = CallbackID(at: now)
    let text = id.description
    #expect(CallbackID(text) == id)
    #expect(CallbackID(text.uppercased()) == id)
    #expect(text.count == 36)
    let parts = text.split(separator: "-").map(String.init)
    #expect(parts.map(\.count) == [8, 4, 4, 4, 12])
    #expect(UInt64(parts[0] + parts[1], radix: 16) == 1_795_176_000_123)
    #expect(parts[2].first == "7")
    #expect("89ab".contains(parts[3].first ?? "x"))
    #expect(Set((0..<1000).map { _ in CallbackID(at: now) }).count == 1000)
    #expect(CallbackID(at: now) < CallbackID(at: now.later(1)))
  }

  @Test(arguments: [
    "", "x", "0198c5a27d107a3b9c550f6e2d1b4a87", "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a8",
    "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a877",
    "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a8g", "0198c5a27-d10-7a3b-9c55-0f6e2d1b4a87",
    "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a8\0", "0198c5a2-7d10-7a3b-9c55--f6e2d1b4a87",
  ])
  func `anything else is no id`(_ text: String) { #expect(CallbackID(text) == nil) }

  @Test func `names of different things differ, and none is another's`() {
    let maker = StoreIDMaker(key: StoreID(high: 1, low: 2))
    let intents: [CallbackIntent] = [
      .made("+14155550165", caller: "a", key: "bc", asks: "d"),
      .made("+14155550165", caller: "ab", key: "c", asks: "d"),
      .made("+14155550166", caller: "a", key: "b", asks: "cd"),
      .made("+14155550167", caller: "b", key: "+14155550165", asks: ""),
    ]
    var ids: Set<StoreID> = []
    for intent in intents {
      let names = maker.names(of: intent)
      for id in [names.key, names.fingerprint, names.place] {
        #expect(id.map { ids.insert($0).inserted } == true)
      }
    }
    let names = maker.names(of: .made(window: .zero))
    #expect(names.key == nil && names.fingerprint == nil && names.place == nil)
    // Another store gives the same callback other names.
    let other = StoreIDMaker(key: StoreID(high: 1, low: 3))
    #expect(other.names(of: intents[0]) != maker.names(of: intents[0]))
  }

  /// `damaged` is the error for a row that cannot be read, such as one that a newer release wrote.
  @Test(arguments: [StoreError.Kind.rejected, .damaged])
  func `a job that cannot be kept fails alone`(_ failure: StoreError.Kind) async throws {
    let sessions = SessionQueue(label: "test", count: 1, health: StoreHealth()) { PickySession(failure) }
    // Blocks the session until all the other jobs wait.
    let results: [Int: StoreError.Kind] = await withTaskGroup(of: (Int, StoreError.Kind?).self) { group in
      group.addTask {
        (-1, await kind { try await sessions.call(.reads) { _ throws(StoreError) in _ = usleep(200_000) } })
      }
      for number in 0..<20 {
        group.addTask {
          let intent = CallbackIntent.made(app: number == 7 ? "bad" : nil)
          return (number, await kind { _ = try await sessions.begin(intent, at: .noon()) })
        }
      }
      return await group.reduce(into: [:]) { if let kind = $1.1 { $0[$1.0] = kind } }
    }
    #expect(results == [7: failure])
    await sessions.close()
  }
}

/// A session whose transaction fails if it contains a callback of the app `bad`.
private final class PickySession: StoreSession {
  private let failure: StoreError.Kind

  init(_ failure: StoreError.Kind) { self.failure = failure }

  func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    for job in jobs {
      guard case .callback(.begin(let intent, _, let said)) = job.work else { continue }
      if intent.appID == "bad" { throw StoreError(failure, "test", "bad") }
      said(.begun)
    }
  }

  func close() {}
}
