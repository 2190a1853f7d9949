// Tests of how callbacks wait for a turn at Talkdesk.

import Platform
import Synchronization
import TestSupport
import Testing

@testable import API
@testable import Delivery
@testable import Responses

@Suite(.timeLimit(.minutes(2))) struct CallbackQueueTests {
  private let time = ManualTime()
  private let ann = CallbackQueue.Party("app")
  private let bob = CallbackQueue.Party("partner")

  private func deadline(_ seconds: Int64 = 20) -> MonotonicTime { time.now + .seconds(seconds) }

  private func take(
    _ queue: CallbackQueue, _ party: CallbackQueue.Party, seconds: Int64 = 20, bytes: Int = 100
  ) async -> Result<CallbackQueue.Turn, CallbackQueue.Refusal> {
    do throws(CallbackQueue.Refusal) {
      return .success(try await queue.turn(party, deadline: deadline(seconds), bytes: bytes))
    } catch {
      return .failure(error)
    }
  }

  /// Starts a task that waits for a turn, and returns once it waits.
  private func wait(
    _ queue: CallbackQueue, _ party: CallbackQueue.Party, seconds: Int64 = 20, bytes: Int = 100
  ) async throws -> Task<Result<CallbackQueue.Turn, CallbackQueue.Refusal>, Never> {
    let before = queue.load.waiting
    let task = Task { await take(queue, party, seconds: seconds, bytes: bytes) }
    try await eventually { queue.load.waiting == before + 1 }
    return task
  }

  @Test func `so many run at once, and the others wait for a turn`() async throws {
    let queue = CallbackQueue(concurrency: 2, time: time)
    let first = try await take(queue, ann).get()
    _ = try await take(queue, ann).get()
    let third = try await wait(queue, ann)
    #expect(queue.load == (2, 1))
    queue.end(first, wasSent: true)
    _ = try await third.value.get()
    #expect(queue.load == (2, 0))
  }

  @Test func `a burst of one caller does not starve another`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    var turn = try await take(queue, ann).get()
    let order = Notes()
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<50 {
      let waiting = try await wait(queue, ann)
      tasks.append(
        Task {
          let turn = try await waiting.value.get()
          order.add("burst \(number)")
          queue.end(turn, wasSent: true)
        })
    }
    let other = try await wait(queue, bob)
    tasks.append(
      Task {
        let turn = try await other.value.get()
        order.add("other")
        queue.end(turn, wasSent: true)
      })
    queue.end(turn, wasSent: true)
    for task in tasks { try await task.value }
    #expect(order.all.firstIndex(of: "other") == 1)
    turn = try await take(queue, ann).get()
    queue.end(turn, wasSent: true)
  }

  @Test func `who would come too late is told so at once`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    let slow = try await take(queue, ann).get()
    time.advance(by: .seconds(6))
    queue.end(slow, wasSent: true)
    // A callback takes six seconds, so the third in line would end after 24.
    let running = try await take(queue, ann).get()
    let first = try await wait(queue, ann)
    let second = try await wait(queue, ann)
    #expect(
      queue.refusal(ann, deadline: deadline(), bytes: 1) == .overloaded(retryAfter: .milliseconds(5500)))
    #expect(await take(queue, ann).refusal == .overloaded(retryAfter: .milliseconds(5500)))
    // Another caller's turn would come in time.
    #expect(queue.refusal(bob, deadline: deadline(), bytes: 1) == nil)
    queue.end(running, wasSent: true)
    queue.end(try await first.value.get(), wasSent: true)
    queue.end(try await second.value.get(), wasSent: true)
  }

  @Test func `a callback whose time is over is late, and no overload`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    #expect(queue.refusal(ann, deadline: time.now, bytes: 1) == .late)
    #expect(await take(queue, ann, seconds: 0).refusal == .late)
    #expect(Problem(.noTurn(.late)).code == .upstreamTimeout)
  }

  @Test func `an upstream that hangs is known to be slow before anything has ended`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    let hanging = try await take(queue, ann).get()
    #expect(queue.refusal(ann, deadline: deadline(), bytes: 1) == nil)
    time.advance(by: .seconds(12))
    #expect(queue.refusal(ann, deadline: deadline(), bytes: 1) != nil)
    queue.end(hanging, wasSent: false)
    // A callback that was not sent tells nothing about Talkdesk.
    #expect(queue.refusal(ann, deadline: deadline(), bytes: 1) == nil)
    _ = try await take(queue, ann).get()
    #expect(queue.refusal(ann, deadline: deadline(), bytes: 1) == nil)
  }

  @Test func `whose turn does not come is sent away while there is time to say so`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    let hanging = try await take(queue, ann).get()
    let first = try await wait(queue, ann)
    let second = try await wait(queue, bob, seconds: 10)
    try await eventually { time.due.count == 1 }
    // A tenth of the time must be left, at most a second.
    time.advance(by: .seconds(9))
    #expect(await second.value.refusal == .overloaded(retryAfter: .milliseconds(29_250)))
    #expect(queue.load == (1, 1))
    try await eventually { time.due.count == 1 }
    time.advance(by: .seconds(10))
    #expect(await first.value.refusal == .overloaded(retryAfter: .milliseconds(42_750)))
    #expect(queue.load == (1, 0))
    // The queue is empty now. The next callback still gets its turn.
    let third = try await wait(queue, ann, seconds: 100)
    queue.end(hanging, wasSent: true)
    queue.end(try await third.value.get(), wasSent: true)
  }

  @Test func `an ending server sends away who waits and whoever comes`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    let hanging = try await take(queue, ann).get()
    let waiting = try await wait(queue, ann)
    queue.shutdown()
    #expect(await waiting.value.refusal == .ended)
    #expect(await take(queue, ann).refusal == .ended)
    queue.end(hanging, wasSent: false)
    #expect(queue.load == (0, 0))
  }

  @Test func `a pause refuses at once, also those who wait, until it is over`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    let first = try await take(queue, ann).get()
    let waiting = try await wait(queue, bob)
    queue.pause(for: .seconds(7))
    #expect(await waiting.value.refusal == .paused(.seconds(7)))
    queue.end(first, wasSent: true)
    time.advance(by: .seconds(3))
    #expect(queue.refusal(ann, deadline: deadline(), bytes: 1) == .paused(.seconds(4)))
    #expect(queue.pause == .seconds(4))
    // A shorter pause does not end a longer one.
    queue.pause(for: .seconds(1))
    #expect(queue.pause == .seconds(4))
    time.advance(by: .seconds(4))
    #expect(queue.pause == nil)
    _ = try await take(queue, ann).get()
  }

  @Test func `the sandbox ends a pause before its time`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    queue.pause(for: .seconds(60))
    queue.endPause()
    #expect(queue.pause == nil)
    _ = try await take(queue, ann).get()
  }

  @Test func `a pause lasts over a reload, but not over one that asks another upstream`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    queue.pause(for: .seconds(3600))
    queue.reconfigure(concurrency: 2, endsPause: false)
    #expect(queue.pause == .seconds(3600))
    queue.reconfigure(concurrency: 1, endsPause: true)
    #expect(queue.pause == nil)
    _ = try await take(queue, ann).get()
  }

  @Test func `no pause is longer than an hour or shorter than a second`() {
    let queue = CallbackQueue(concurrency: 1, time: time)
    queue.pause(for: .zero)
    #expect(queue.pause == .seconds(1))
    queue.pause(for: .seconds(86_400))
    #expect(queue.pause == .seconds(3600))
  }

  @Test func `another bound counts at once, upwards and downwards`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    let first = try await take(queue, ann).get()
    let second = try await wait(queue, ann)
    let third = try await wait(queue, ann)
    queue.reconfigure(concurrency: 3, endsPause: false)
    let (b, c) = (try await second.value.get(), try await third.value.get())
    #expect(queue.load == (3, 0))
    queue.reconfigure(concurrency: 1, endsPause: false)
    let fourth = try await wait(queue, ann)
    queue.end(first, wasSent: true)
    queue.end(b, wasSent: true)
    #expect(queue.load == (1, 1))
    queue.end(c, wasSent: true)
    _ = try await fourth.value.get()
  }

  @Test func `what waits is bounded, in number and in bytes`() async throws {
    let queue = CallbackQueue(concurrency: 1, time: time)
    let first = try await take(queue, ann).get()
    let half = CallbackQueue.mostWaitingBytes / 2
    let large = try await wait(queue, ann, bytes: half)
    #expect(queue.refusal(ann, deadline: deadline(), bytes: 1) != nil)
    #expect(queue.refusal(bob, deadline: deadline(), bytes: half) == nil)
    #expect(queue.refusal(bob, deadline: deadline(), bytes: half + 1) != nil)
    queue.end(first, wasSent: false)
    queue.end(try await large.value.get(), wasSent: false)
    #expect(queue.load == (0, 0))
    let hanging = try await take(queue, ann).get()
    var tasks: [Task<Result<CallbackQueue.Turn, CallbackQueue.Refusal>, Never>] = []
    for _ in 0..<(CallbackQueue.mostWaiting / 2) { tasks.append(Task { await take(queue, ann) }) }
    try await eventually { queue.load.waiting == CallbackQueue.mostWaiting / 2 }
    #expect(queue.refusal(ann, deadline: deadline(), bytes: 1) != nil)
    // Half of the queue is reserved for others.
    #expect(queue.refusal(bob, deadline: deadline(), bytes: 1) == nil)
    queue.shutdown()
    for task in tasks { _ = await task.value }
    queue.end(hanging, wasSent: false)
    #expect(queue.load == (0, 0))
  }
}

/// Events, in order.
private final class Notes: Sendable {
  private let notes = Mutex<[String]>([])

  var all: [String] { notes.withLock { $0 } }
  func add(_ note: String) { notes.withLock { $0.append(note) } }
}

extension Result where Failure == CallbackQueue.Refusal {
  /// The reason why there was no turn.
  fileprivate var refusal: CallbackQueue.Refusal? {
    if case .failure(let refusal) = self { refusal } else { nil }
  }
}
