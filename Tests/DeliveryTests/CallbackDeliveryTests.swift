// Tests of what a callback occupies, and of what is given back for each outcome of its courier.

import API
import Gate
import HTTP
import HTTPServer
import Platform
import Store
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import DeliverySupport
@testable import Records
@testable import Responses
@testable import Tokens

@Suite(.timeLimit(.minutes(2))) struct CallbackDeliveryTests {
  private typealias Fixture = DeliveryFixture

  @Test func `what a provider accepted stays taken, and nothing is held any more`() async throws {
    let fixture = Fixture(.accepted)
    guard case .accepted = try await fixture.call()?.outcome else {
      Issue.record("not accepted")
      return
    }
    #expect(fixture.isFree(try fixture.intent()))
    #expect(try await fixture.call() == nil)
    #expect(
      try await fixture.memory.standing(of: try fixture.intent(), at: fixture.now).key.record?.status
        == .accepted)
  }

  @Test
  func `what a provider certainly did not accept is given back, and its fields are kept for repetitions`()
    async throws
  {
    let fixture = Fixture(.notAccepted(.rejected(fields: ["a", "b"])), .accepted)
    guard case .undelivered(.notAccepted(.rejected), isRecorded: true) = try await fixture.call()?.outcome
    else {
      Issue.record("not rejected")
      return
    }
    #expect(fixture.isFree(try fixture.intent()))
    let standing = try await fixture.memory.standing(of: try fixture.intent(), at: fixture.now)
    #expect(standing.key.record?.refusedFields == ["a", "b"] && standing.duplicate == nil)
    // The allowance is available again.
    guard case .replay(let record) = try await fixture.call()?.outcome else {
      Issue.record("not repeated")
      return
    }
    #expect(record.status == .failed && fixture.courier.tokens.count == 1)
    #expect(fixture.isFree(try fixture.intent()))
  }

  @Test(arguments: [true, false])
  func `what a provider may have accepted stays taken`(isAnswered: Bool) async throws {
    let fixture = Fixture(.unknown(isAnswered: isAnswered))
    guard case .undelivered(.unknown(isAnswered), isRecorded: true) = try await fixture.call()?.outcome else {
      Issue.record("not unknown")
      return
    }
    #expect(fixture.isFree(try fixture.intent()))
    #expect(try await fixture.call() == nil)
  }

  @Test func `a refused token is replaced once`() async throws {
    let fixture = Fixture(.notAccepted(.tokenRefused), .notAccepted(.tokenRefused), .accepted)
    guard case .undelivered(.notAccepted(.tokenRefused), isRecorded: true) = try await fixture.call()?.outcome
    else {
      Issue.record("not refused")
      return
    }
    #expect(Set(fixture.courier.tokens).count == 2)
    // The key was left free, and the allowance given back.
    guard case .accepted = try await fixture.call()?.outcome else {
      Issue.record("not accepted")
      return
    }
  }

  @Test func `a request for a pause stops the next before it is begun`() async throws {
    let fixture = Fixture(.notAccepted(.rateLimited(retryAfter: .seconds(7))))
    for isRecorded in [true, false] {
      guard case .undelivered(.noTurn(.paused(.seconds(7))), isRecorded) = try await fixture.call()?.outcome
      else {
        Issue.record("not paused")
        return
      }
    }
    #expect(fixture.isFree(try fixture.intent()))
  }

  @Test func `an ending server gives back what a waiting callback holds`() async throws {
    let fixture = Fixture()
    let running = try await fixture.parts.queue.turn(
      .init("other"), deadline: fixture.time.now + .seconds(20), bytes: 1)
    let waiting = Task { try await fixture.call() }
    try await eventually { fixture.parts.queue.load == (1, 1) }
    // The client leaves, and the callback keeps waiting.
    waiting.cancel()
    #expect(fixture.parts.queue.load == (1, 1))
    fixture.parts.queue.shutdown()
    guard case .undelivered(.noTurn(.ended), isRecorded: false) = try await waiting.value?.outcome else {
      Issue.record("not ended")
      return
    }
    fixture.parts.queue.end(running, wasSent: false)
    #expect(fixture.isFree(try fixture.intent()))
    #expect(try await fixture.call() != nil, "the allowance is there again")
  }

  /// Reasons not to send a callback although its turn has come: its installation has ended, or the store
  /// cannot tell.
  private static let endings: [Undelivered] = [.revoked, .unchecked]

  @Test(arguments: endings.indices, [0, 1])
  func `a callback whose installation ends while it waits, or while its record is saved, is not sent`(
    _ ending: Int, after good: Int
  ) async throws {
    let fixture = Fixture(.accepted)
    let asked = Atomic<Int>(0)
    let result = try await fixture.call {
      asked.wrappingAdd(1, ordering: .relaxed).oldValue < good ? nil : Self.endings[ending]
    }
    guard case .undelivered(let reason, isRecorded: false) = result?.outcome else {
      Issue.record("sent")
      return
    }
    #expect("\(reason)" == "\(Self.endings[ending])")
    #expect(fixture.courier.tokens.isEmpty)
    let intent = try fixture.intent()
    #expect(fixture.isFree(intent))
    // The saved record is deleted in the background.
    try await eventually {
      let standing = try await fixture.memory.standing(of: intent, at: fixture.now)
      return standing == CallbackStanding(key: .free, duplicate: nil) && fixture.parts.store.count == 0
    }
    #expect(try await fixture.call() != nil, "the allowance is there again")
  }

  @Test func `a callback whose installation ends after a refused token is not sent again`() async throws {
    let fixture = Fixture(.notAccepted(.tokenRefused), .accepted)
    let asked = Atomic<Int>(0)
    let result = try await fixture.call {
      asked.wrappingAdd(1, ordering: .relaxed).newValue < 3 ? nil : .revoked
    }
    guard case .undelivered(.revoked, isRecorded: true) = result?.outcome else {
      Issue.record("sent again")
      return
    }
    #expect(fixture.courier.tokens.count == 1)
    #expect(try await fixture.memory.callbacks(CallbackQuery(limit: 9)).map(\.status) == [.failed])
    #expect(fixture.isFree(try fixture.intent()))
    #expect(try await fixture.call() != nil, "the allowance is there again")
  }

  @Test
  func
    `what ends with its installation is refused as a wrong password is, and what nobody could check may be tried again`()
  {
    let revoked = Problem(.revoked)
    #expect(revoked.code == .unauthenticated && revoked.responseFields["WWW-Authenticate"] != nil)
    let unchecked = Problem(.unchecked)
    #expect(unchecked.code == .storeUnavailable && unchecked.retryAfter == 1)
    #expect(!Undelivered.revoked.isKept && !Undelivered.unchecked.isKept)
  }

  @Test(arguments: ["app", "installation"])
  func `a stop of the granted caller stops what waits, whoever owns the record`(_ stopped: String)
    async throws
  {
    let stand = Fixture(.accepted, callerID: "installation")
    try await stand.stops.stop(Stop(.caller(stopped), .one(.callback), since: stand.now.seconds))
    let result = try #require(try await stand.call())
    switch result.outcome {
    case .accepted: #expect(stopped == "app")
    case .undelivered(.stopped, isRecorded: false): #expect(stopped == "installation")
    default: Issue.record("\(result.outcome)")
    }
  }

  @Test func `a number that is blocked while its callback waits is not called`() async throws {
    let stand = Fixture(.accepted)
    let number = try stand.intent().contact
    #expect(
      try await stand.blocked.block(number, reason: nil, until: nil, by: .init("ann", by: .token)))
    let result = try #require(try await stand.call())
    guard case .undelivered(.blocked, isRecorded: false) = result.outcome else {
      Issue.record("\(result.outcome)")
      return
    }
    let problem = Problem(Undelivered.blocked)
    #expect(problem.code == .numberNotAllowed && problem.rule == "default-numbers")
    #expect(problem.ownRule == "blocked" && !Undelivered.blocked.isKept)
  }

  @Test func `a hold that is dropped stops the process`() async {
    await #expect(processExitsWith: .failure) {
      let fixture = Fixture()
      _ = Hold(try fixture.intent(), fixture.parts)
    }
  }
}

extension KeyStanding {
  fileprivate var record: StoredCallback? { if case .replay(let record) = self { record } else { nil } }
}
