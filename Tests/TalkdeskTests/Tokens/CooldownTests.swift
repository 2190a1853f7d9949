// Tests of how long token requests pause after each kind of failure.

import HTTP
import Platform
import Testing

@testable import Talkdesk
@testable import Tokens

@Suite struct CooldownTests {
  private let start = MonotonicTime(nanoseconds: 5_000_000_000)
  private let refused = TokenExchangeError.refused(status: 401, code: nil)
  private let down = TokenExchangeError.unavailable(status: 503, retryAfter: nil)

  private func lengths(_ error: TokenExchangeError, unit: Double, count: Int) -> [Duration] {
    (1...count).map { Cooldown.length(after: error, failures: $0, unit: unit) }
  }

  @Test func `a bad credential cools down for 30 s, doubling to 5 min`() {
    #expect(lengths(refused, unit: 0, count: 6).map(\.components.seconds) == [30, 60, 120, 240, 300, 300])
    #expect(lengths(refused, unit: 1, count: 6).map(\.components.seconds) == [33, 66, 132, 264, 330, 330])
    #expect(Cooldown.length(after: refused, failures: .max, unit: 0) == .seconds(300))
  }

  @Test func `an outage cools down for half a second, doubling to 30 s`() {
    let least = lengths(down, unit: 0, count: 8)
    #expect(
      least == [.seconds(0.5), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)]
        + [.seconds(20), .seconds(20)])
    #expect(lengths(down, unit: 1, count: 8).last == .seconds(30))
  }

  @Test func `a rate limit cools down as asked, else for 5 s, doubling to a minute`() {
    func asked(_ wait: Duration?) -> Duration {
      Cooldown.length(after: .rateLimited(retryAfter: wait), failures: 1, unit: 0)
    }
    #expect(asked(.seconds(7)) == .seconds(7))
    #expect(asked(.zero) == .seconds(1))
    #expect(asked(.seconds(3600)) == .seconds(60))
    #expect(
      lengths(.rateLimited(retryAfter: nil), unit: 0, count: 6).map(\.components.seconds)
        == [5, 10, 20, 40, 60, 60])
  }

  @Test func `an outage that says when to come back is believed`() {
    let error = TokenExchangeError.unavailable(status: 503, retryAfter: .seconds(9))
    #expect(Cooldown.length(after: error, failures: 1, unit: 0) == .seconds(9))
  }

  @Test func `each failure cools down in its own way`() {
    let lost = { (reason: TransportError.Reason) in
      TokenExchangeError.transport(TransportError(reason, sent: false, detail: ""))
    }
    #expect(Cooldown.kind(of: refused) == .credential)
    #expect(Cooldown.kind(of: .signingFailed("")) == .credential)
    #expect(Cooldown.kind(of: .rateLimited(retryAfter: nil)) == .rateLimit)
    for error in [down, .timedOut(sent: true), .unusableReply(.empty), lost(.connect), lost(.tls)] {
      #expect(Cooldown.kind(of: error) == .outage)
    }
    #expect(Cooldown.kind(of: lost(.cancelled)) == nil)
  }

  @Test func `it lasts until its end and not longer`() {
    var cooldown = Cooldown()
    cooldown.record(refused, startedAt: start, now: start, unit: 0)
    #expect(cooldown.rest(at: start + .seconds(29))?.remaining == .seconds(1))
    #expect(cooldown.rest(at: start + .seconds(30)) == nil)
  }

  @Test func `exchanges that fail together count once, and their longest wait is obeyed`() {
    var cooldown = Cooldown()
    let later = start + .seconds(1)
    for _ in 0..<20 { cooldown.record(down, startedAt: start, now: later, unit: 0) }
    #expect(cooldown.failures == 1)
    #expect(cooldown.rest(at: later)?.remaining == .seconds(0.5))
    cooldown.record(
      .unavailable(status: 503, retryAfter: .seconds(7)), startedAt: start, now: later, unit: 0)
    #expect(cooldown.rest(at: later)?.remaining == .seconds(7))
    cooldown.record(down, startedAt: later, now: later, unit: 0)
    #expect(cooldown.failures == 2)
  }

  @Test func `a success ends it, unless it was under way before`() {
    var cooldown = Cooldown()
    cooldown.record(down, startedAt: start, now: start + .seconds(2), unit: 0)
    cooldown.succeed(startedAt: start + .seconds(1))
    #expect(cooldown.failures == 1)
    cooldown.succeed(startedAt: start + .seconds(3))
    #expect(cooldown.failures == 0)
    #expect(cooldown.rest(at: start + .seconds(2)) == nil)
  }
}
