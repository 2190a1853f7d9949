// Tests of how simultaneous callbacks with one key or to one number meet in a process.

import Gate
import Platform
import Store
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(2))) struct CallbacksInHandTests {
  private let time = ManualTime()
  private let inHand: CallbacksInHand
  private let number: CallbacksInHand.Number

  init() throws {
    inHand = CallbacksInHand(time: time)
    number = CallbacksInHand.Number(owner: "app", number: try E164("+14155550100"))
  }

  private func take(seconds: Int64 = 20) async -> CallbacksInHand.NumberTurn {
    await inHand.take(number, deadline: time.now + .seconds(seconds))
  }

  /// Starts a task that waits for the number, and returns once it waits.
  private func wait(seconds: Int64 = 20) async throws -> Task<CallbacksInHand.NumberTurn, Never> {
    let before = inHand.count(at: number)
    let task = Task { await take(seconds: seconds) }
    try await eventually { inHand.count(at: number) == before + 1 }
    return task
  }

  @Test func `to look at a key claims nothing`() {
    let key = CallbacksInHand.Key(callerID: "app", text: "k")
    #expect(inHand.look(key, fingerprint: "a") == .free)
    #expect(inHand.claim(key, fingerprint: "a") == .free)
    #expect(inHand.look(key, fingerprint: "a") == .inProgress)
    #expect(inHand.claim(key, fingerprint: "b") == .mismatch)
    inHand.release(key)
    #expect(inHand.look(key, fingerprint: "b") == .free)
  }

  @Test func `those that wait learn which callback stands, and one that comes later does not wait`()
    async throws
  {
    let standing = CallbackID(at: Instant(time.unixTime))
    #expect(await take() == .free)
    let waiting = [try await wait(), try await wait()]
    inHand.release(number, standing: standing)
    for task in waiting { #expect(await task.value == .taken(standing)) }
    #expect(await take() == .free)
    inHand.release(number, standing: nil)
    #expect(inHand.count(at: number) == 0)
  }

  @Test func `where the first gives up the next goes on, one at a time`() async throws {
    let standing = CallbackID(at: Instant(time.unixTime))
    #expect(await take() == .free)
    let next = try await wait()
    let last = try await wait()
    inHand.release(number, standing: nil)
    #expect(await next.value == .free)
    #expect(inHand.count(at: number) == 2)
    // Another instance was faster.
    inHand.release(number, standing: standing)
    #expect(await last.value == .taken(standing))
    #expect(inHand.count(at: number) == 0)
  }

  @Test func `nobody waits beyond the deadline, and others wait on`() async throws {
    #expect(await take() == .free)
    let hasty = try await wait(seconds: 3)
    let patient = try await wait()
    try await eventually { time.due.count == 2 }
    time.advance(by: .seconds(3))
    #expect(await hasty.value == .late)
    #expect(inHand.count(at: number) == 2)
    inHand.release(number, standing: nil)
    #expect(await patient.value == .free)
  }

  @Test func `no more than a bound wait, for all numbers together, and each that leaves makes room`()
    async throws
  {
    #expect(await take() == .free)
    var waiting: [Task<CallbacksInHand.NumberTurn, Never>] = []
    for _ in 0..<CallbacksInHand.mostWaiting { waiting.append(try await wait()) }
    #expect(await take() == .full)
    // A callback that does not have to wait is not affected.
    let elsewhere = CallbacksInHand.Number(owner: "app", number: try E164("+14155550101"))
    #expect(await inHand.take(elsewhere, deadline: time.now + .seconds(9)) == .free)
    #expect(await inHand.take(elsewhere, deadline: time.now + .seconds(9)) == .full)
    inHand.release(number, standing: nil)
    #expect(await waiting[0].value == .free)
    waiting.append(try await wait())
    #expect(await take() == .full)
    time.advance(by: .seconds(3600))
    for waiter in waiting.dropFirst() { #expect(await waiter.value == .late) }
    #expect(inHand.count(at: number) == 1)
  }

  @Test func `another number, and another caller's request for it, wait for nobody`() async throws {
    #expect(await take() == .free)
    for other in [
      CallbacksInHand.Number(owner: "partner", number: try E164("+14155550100")),
      CallbacksInHand.Number(owner: "app", number: try E164("+14155550101")),
    ] {
      #expect(await inHand.take(other, deadline: time.now) == .free)
    }
  }
}
