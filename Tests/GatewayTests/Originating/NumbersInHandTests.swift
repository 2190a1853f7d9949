// Tests of how simultaneous callbacks to one number wait for each other.

import Gate
import Platform
import Store
import TestSupport
import Testing

@testable import Delivery
@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct NumbersInHandTests {
  private let time = ManualTime()
  private let numbers: NumbersInHand
  private let name: NumbersInHand.Name

  init() throws {
    numbers = NumbersInHand(time: time)
    name = NumbersInHand.Name(callerID: "app", number: try E164("+14155550100"))
  }

  private func id() -> CallbackID { CallbackID(at: Instant(time.unixTime)) }

  private func turn(_ id: CallbackID, seconds: Int64 = 20) async -> NumbersInHand.Turn {
    await numbers.turn(of: id, at: name, deadline: time.now + .seconds(seconds))
  }

  /// Lets one wait in a task, and returns once it does.
  private func wait(_ id: CallbackID, seconds: Int64 = 20) async throws -> Task<NumbersInHand.Turn, Never> {
    let before = numbers.count(at: name)
    let task = Task { await turn(id, seconds: seconds) }
    try await until { numbers.count(at: name) == before + 1 }
    return task
  }

  @Test func `who waits learns which callback stands, and who comes after that does not wait`() async throws {
    let (first, second, third, fourth) = (id(), id(), id(), id())
    #expect(await turn(first) == .free)
    let waiting = [try await wait(second), try await wait(third)]
    numbers.stands(first, at: name, for: first)
    for task in waiting { #expect(await task.value == .taken(first)) }
    #expect(await turn(fourth) == .free)
    // The first one's turn has ended long ago, and its end takes nobody's away.
    numbers.leave(first, at: name)
    numbers.stands(first, at: name, for: first)
    #expect(numbers.count(at: name) == 1)
    numbers.leave(fourth, at: name)
    #expect(numbers.count(at: name) == 0)
  }

  @Test func `where the first gives up the next goes on, one at a time`() async throws {
    let (first, second, third) = (id(), id(), id())
    #expect(await turn(first) == .free)
    let next = try await wait(second)
    let last = try await wait(third)
    numbers.leave(first, at: name)
    #expect(await next.value == .free)
    #expect(numbers.count(at: name) == 2)
    // Another instance was faster.
    numbers.stands(first, at: name, for: second)
    #expect(await last.value == .taken(first))
    #expect(numbers.count(at: name) == 0)
  }

  @Test func `nobody waits beyond the deadline, and others wait on`() async throws {
    let (first, second, third) = (id(), id(), id())
    #expect(await turn(first) == .free)
    let hasty = try await wait(second, seconds: 3)
    let patient = try await wait(third)
    try await until { time.due.count == 2 }
    time.advance(by: .seconds(3))
    #expect(await hasty.value == .late)
    #expect(numbers.count(at: name) == 2)
    numbers.leave(first, at: name)
    #expect(await patient.value == .free)
  }

  @Test func `no more than a bound wait, wherever, and whoever leaves makes room`() async throws {
    let first = id()
    #expect(await turn(first) == .free)
    var waiting: [Task<NumbersInHand.Turn, Never>] = []
    for _ in 0..<NumbersInHand.mostWaiting { waiting.append(try await wait(id())) }
    #expect(await turn(id()) == .full)
    // Whoever has not to wait is not concerned.
    let elsewhere = NumbersInHand.Name(callerID: "app", number: try E164("+14155550101"))
    let other = id()
    #expect(await numbers.turn(of: other, at: elsewhere, deadline: time.now + .seconds(9)) == .free)
    #expect(await numbers.turn(of: id(), at: elsewhere, deadline: time.now + .seconds(9)) == .full)
    numbers.leave(first, at: name)
    #expect(await waiting[0].value == .free)
    waiting.append(try await wait(id()))
    #expect(await turn(id()) == .full)
    numbers.leave(other, at: elsewhere)
    time.advance(by: .seconds(3600))
    for waiter in waiting.dropFirst() { #expect(await waiter.value == .late) }
    #expect(numbers.count(at: name) == 1)
  }

  @Test func `another number, and another caller's wish for it, wait for nobody`() async throws {
    #expect(await turn(id()) == .free)
    for other in [
      NumbersInHand.Name(callerID: "partner", number: name.number),
      NumbersInHand.Name(callerID: "app", number: try E164("+14155550101")),
    ] {
      #expect(await numbers.turn(of: id(), at: other, deadline: time.now) == .free)
    }
  }
}

@Suite struct CallbacksInHandTests {
  @Test func `to look at a key claims nothing`() {
    let inHand = CallbacksInHand(time: ManualTime())
    let name = CallbacksInHand.Name(callerID: "app", key: "k")
    #expect(inHand.look(name, fingerprint: "a") == .free)
    #expect(inHand.claim(name, fingerprint: "a") == .free)
    #expect(inHand.look(name, fingerprint: "a") == .inProgress)
    #expect(inHand.look(name, fingerprint: "b") == .mismatch)
    inHand.release(name)
    #expect(inHand.look(name, fingerprint: "b") == .free)
  }
}
