// Tests of how callbacks queue for a place at Talkdesk.

import Platform
import Synchronization
import TestSupport
import Testing

@testable import API
@testable import Delivery
@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct OriginatorTests {
  private let time = ManualTime()
  private let ann = Originator.Party("app")
  private let bob = Originator.Party("partner")

  private func deadline(_ seconds: Int64 = 20) -> MonotonicTime { time.now + .seconds(seconds) }

  private func take(
    _ originator: Originator, _ party: Originator.Party, seconds: Int64 = 20, bytes: Int = 100
  ) async -> Result<Originator.Turn, Originator.Refusal> {
    do throws(Originator.Refusal) {
      return .success(try await originator.turn(party, deadline: deadline(seconds), bytes: bytes))
    } catch {
      return .failure(error)
    }
  }

  /// Lets one wait in a task, and returns once it does.
  private func wait(
    _ originator: Originator, _ party: Originator.Party, seconds: Int64 = 20, bytes: Int = 100
  ) async throws -> Task<Result<Originator.Turn, Originator.Refusal>, Never> {
    let before = originator.load.waiting
    let task = Task { await take(originator, party, seconds: seconds, bytes: bytes) }
    try await until { originator.load.waiting == before + 1 }
    return task
  }

  @Test func `so many run at once, and the others wait for a place`() async throws {
    let originator = Originator(concurrency: 2, time: time)
    let first = try await take(originator, ann).get()
    _ = try await take(originator, ann).get()
    let third = try await wait(originator, ann)
    #expect(originator.load == (2, 1))
    originator.end(first, wasSent: true)
    _ = try await third.value.get()
    #expect(originator.load == (2, 0))
  }

  @Test func `a burst of one caller does not starve another`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    var turn = try await take(originator, ann).get()
    let order = Notes()
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<50 {
      let waiting = try await wait(originator, ann)
      tasks.append(
        Task {
          let turn = try await waiting.value.get()
          order.add("burst \(number)")
          originator.end(turn, wasSent: true)
        })
    }
    let other = try await wait(originator, bob)
    tasks.append(
      Task {
        let turn = try await other.value.get()
        order.add("other")
        originator.end(turn, wasSent: true)
      })
    originator.end(turn, wasSent: true)
    for task in tasks { try await task.value }
    #expect(order.all.firstIndex(of: "other") == 1)
    turn = try await take(originator, ann).get()
    originator.end(turn, wasSent: true)
  }

  @Test func `who would come too late is told so at once`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    let slow = try await take(originator, ann).get()
    time.advance(by: .seconds(6))
    originator.end(slow, wasSent: true)
    // One takes six seconds: the third in line would be over after 24.
    let running = try await take(originator, ann).get()
    let first = try await wait(originator, ann)
    let second = try await wait(originator, ann)
    #expect(
      originator.refusal(ann, deadline: deadline(), bytes: 1) == .overloaded(retryAfter: .milliseconds(5500)))
    #expect(await take(originator, ann).refusal == .overloaded(retryAfter: .milliseconds(5500)))
    // Another caller's turn would come in time.
    #expect(originator.refusal(bob, deadline: deadline(), bytes: 1) == nil)
    originator.end(running, wasSent: true)
    originator.end(try await first.value.get(), wasSent: true)
    originator.end(try await second.value.get(), wasSent: true)
  }

  @Test func `a callback whose time is over is late, and no overload`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    #expect(originator.refusal(ann, deadline: time.now, bytes: 1) == .late)
    #expect(await take(originator, ann, seconds: 0).refusal == .late)
    #expect(Problem(Originator.Refusal.late).code == .upstreamTimeout)
  }

  @Test func `an upstream that hangs is known to be slow before anything has ended`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    let hanging = try await take(originator, ann).get()
    #expect(originator.refusal(ann, deadline: deadline(), bytes: 1) == nil)
    time.advance(by: .seconds(12))
    #expect(originator.refusal(ann, deadline: deadline(), bytes: 1) != nil)
    originator.end(hanging, wasSent: false)
    // What was not sent tells nothing about Talkdesk.
    #expect(originator.refusal(ann, deadline: deadline(), bytes: 1) == nil)
    _ = try await take(originator, ann).get()
    #expect(originator.refusal(ann, deadline: deadline(), bytes: 1) == nil)
  }

  @Test func `whose turn does not come is sent away while there is time to say so`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    let hanging = try await take(originator, ann).get()
    let first = try await wait(originator, ann)
    let second = try await wait(originator, bob, seconds: 10)
    try await until { time.due.count == 1 }
    // A tenth of the time has to be left, a second at most.
    time.advance(by: .seconds(9))
    #expect(await second.value.refusal == .overloaded(retryAfter: .milliseconds(29_250)))
    #expect(originator.load == (1, 1))
    try await until { time.due.count == 1 }
    time.advance(by: .seconds(10))
    #expect(await first.value.refusal == .overloaded(retryAfter: .milliseconds(42_750)))
    #expect(originator.load == (1, 0))
    // Nobody is looked after any more, and the next one is.
    let third = try await wait(originator, ann, seconds: 100)
    originator.end(hanging, wasSent: true)
    originator.end(try await third.value.get(), wasSent: true)
  }

  @Test func `an ending server sends away who waits and whoever comes`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    let hanging = try await take(originator, ann).get()
    let waiting = try await wait(originator, ann)
    originator.shutdown()
    #expect(await waiting.value.refusal == .ended)
    #expect(await take(originator, ann).refusal == .ended)
    originator.end(hanging, wasSent: false)
    #expect(originator.load == (0, 0))
  }

  @Test func `a pause refuses at once, also those who wait, until it is over`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    let first = try await take(originator, ann).get()
    let waiting = try await wait(originator, bob)
    originator.pause(for: .seconds(7))
    #expect(await waiting.value.refusal == .paused(.seconds(7)))
    originator.end(first, wasSent: true)
    time.advance(by: .seconds(3))
    #expect(originator.refusal(ann, deadline: deadline(), bytes: 1) == .paused(.seconds(4)))
    #expect(originator.pause == .seconds(4))
    // A shorter one does not end a longer one.
    originator.pause(for: .seconds(1))
    #expect(originator.pause == .seconds(4))
    time.advance(by: .seconds(4))
    #expect(originator.pause == nil)
    _ = try await take(originator, ann).get()
  }

  @Test func `a pause lasts over a reload, but not over one that asks another upstream`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    originator.pause(for: .seconds(3600))
    originator.reconfigure(concurrency: 2, endsPause: false)
    #expect(originator.pause == .seconds(3600))
    originator.reconfigure(concurrency: 1, endsPause: true)
    #expect(originator.pause == nil)
    _ = try await take(originator, ann).get()
  }

  @Test func `no pause is longer than an hour or shorter than a second`() {
    let originator = Originator(concurrency: 1, time: time)
    originator.pause(for: .zero)
    #expect(originator.pause == .seconds(1))
    originator.pause(for: .seconds(86_400))
    #expect(originator.pause == .seconds(3600))
  }

  @Test func `another bound counts at once, upwards and downwards`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    let first = try await take(originator, ann).get()
    let second = try await wait(originator, ann)
    let third = try await wait(originator, ann)
    originator.reconfigure(concurrency: 3, endsPause: false)
    let (b, c) = (try await second.value.get(), try await third.value.get())
    #expect(originator.load == (3, 0))
    originator.reconfigure(concurrency: 1, endsPause: false)
    let fourth = try await wait(originator, ann)
    originator.end(first, wasSent: true)
    originator.end(b, wasSent: true)
    #expect(originator.load == (1, 1))
    originator.end(c, wasSent: true)
    _ = try await fourth.value.get()
  }

  @Test func `what waits is bounded, in number and in bytes`() async throws {
    let originator = Originator(concurrency: 1, time: time)
    let first = try await take(originator, ann).get()
    let half = Originator.mostWaitingBytes / 2
    let large = try await wait(originator, ann, bytes: half)
    #expect(originator.refusal(ann, deadline: deadline(), bytes: 1) != nil)
    #expect(originator.refusal(bob, deadline: deadline(), bytes: half) == nil)
    #expect(originator.refusal(bob, deadline: deadline(), bytes: half + 1) != nil)
    originator.end(first, wasSent: false)
    originator.end(try await large.value.get(), wasSent: false)
    #expect(originator.load == (0, 0))
    let hanging = try await take(originator, ann).get()
    var tasks: [Task<Result<Originator.Turn, Originator.Refusal>, Never>] = []
    for _ in 0..<(Originator.mostWaiting / 2) { tasks.append(Task { await take(originator, ann) }) }
    try await until { originator.load.waiting == Originator.mostWaiting / 2 }
    #expect(originator.refusal(ann, deadline: deadline(), bytes: 1) != nil)
    // Half of the room is left to others.
    #expect(originator.refusal(bob, deadline: deadline(), bytes: 1) == nil)
    originator.shutdown()
    for task in tasks { _ = await task.value }
    originator.end(hanging, wasSent: false)
    #expect(originator.load == (0, 0))
  }
}

/// What happened, in order.
private final class Notes: Sendable {
  private let notes = Mutex<[String]>([])

  var all: [String] { notes.withLock { $0 } }
  func add(_ note: String) { notes.withLock { $0.append(note) } }
}

extension Result where Failure == Originator.Refusal {
  /// Why there was no place.
  fileprivate var refusal: Originator.Refusal? {
    if case .failure(let refusal) = self { refusal } else { nil }
  }
}
