// Tests of how the server slows down clients that guess credentials.

import JOSE
import Platform
import Testing

@testable import Callers

@Suite struct LoginThrottleTests {
  private let throttle = LoginThrottle()
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let user = Array("user".utf8)

  private static let one = LoginThrottle.Credential(digest: SHA256Digest(of: [1]))
  private static let two = LoginThrottle.Credential(digest: SHA256Digest(of: [2]))

  private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

  private func delay(
    _ address: IPAddress, _ identity: [UInt8], _ now: MonotonicTime,
    credential: LoginThrottle.Credential = Self.one
  ) -> Duration? {
    throttle.wait(address: address, identity: identity, credential: credential, now: now)
  }

  @Test func `a credential that was right at an address is checked there despite guesses, and no other is`()
    throws
  {
    let shared = try address("203.0.113.9")
    throttle.succeeded(address: shared, credential: Self.one, now: start)
    for _ in 0..<200 { throttle.failed(address: shared, identity: user, now: start) }
    #expect(delay(shared, user, start) == nil)
    #expect(delay(shared, user, start, credential: Self.two) != nil)
    let other = try address("203.0.113.10")
    for _ in 0..<200 { throttle.failed(address: other, identity: user, now: start) }
    #expect(delay(other, user, start) != nil)
    #expect(throttle.refusals == 2)
  }

  @Test func `refused logins and refused tokens are counted together`() throws {
    let place = try address("203.0.113.11")
    for _ in 0..<200 { throttle.failed(address: place, identity: user, now: start) }
    for _ in 0..<2 { #expect(delay(place, user, start) != nil) }
    for _ in 0..<103 { _ = throttle.tokens.failed(address: place, now: start) }
    #expect(throttle.refusals == 5)
  }

  @Test func `a credential that was not used for thirty days has to wait as a new one`() throws {
    let shared = try address("203.0.113.9")
    throttle.succeeded(address: shared, credential: Self.one, now: start)
    let later = start + .seconds(30 * 86_400)
    for _ in 0..<10 { throttle.failed(address: shared, identity: user, now: later) }
    #expect(delay(shared, user, later) == nil)
    #expect(delay(shared, user, later + .nanoseconds(1)) != nil)
  }

  @Test func `of too many that were right those that come no more are forgotten`() throws {
    let shared = try address("203.0.113.9")
    for _ in 0..<200 { throttle.failed(address: shared, identity: user, now: start) }
    throttle.succeeded(address: shared, credential: Self.one, now: start)
    throttle.succeeded(address: shared, credential: Self.two, now: start)
    for number in 0..<LoginThrottle.capacity {
      throttle.succeeded(
        address: IPAddress(v4: 0x0A00_0000 + UInt32(number)), credential: Self.one,
        now: start + .seconds(1) + .nanoseconds(number))
      if number == 100 {
        throttle.succeeded(address: shared, credential: Self.two, now: start + .seconds(61))
      }
    }
    #expect(delay(shared, user, start) != nil)
    #expect(delay(shared, user, start, credential: Self.two) == nil)
  }

  @Test func `ten failures are heard, the eleventh waits as long as is said`() throws {
    let attacker = try address("203.0.113.9")
    for _ in 0..<10 {
      #expect(delay(attacker, user, start) == nil)
      throttle.failed(address: attacker, identity: user, now: start)
    }
    let wait = try #require(delay(attacker, user, start))
    #expect(wait == .seconds(6))
    #expect(delay(attacker, user, start + (wait - .nanoseconds(1))) != nil)
    #expect(delay(attacker, user, start + wait) == nil)
  }

  @Test func `failures elsewhere do not lock the right user out`() throws {
    for host in 1...200 {
      let attacker = try address("198.51.100.\(host)")
      for _ in 0..<10 { throttle.failed(address: attacker, identity: user, now: start) }
    }
    #expect(delay(try address("203.0.113.1"), user, start) == nil)
  }

  @Test func `an address that guesses many names is heard 100 times`() throws {
    let attacker = try address("203.0.113.9")
    var heard = 0
    for guess in 0..<1000 {
      let identity = Array("user\(guess)".utf8)
      guard delay(attacker, identity, start) == nil else { continue }
      heard += 1
      throttle.failed(address: attacker, identity: identity, now: start)
    }
    #expect(heard == 100)
  }

  @Test func `what verifying costs an address is bounded, and what was right there is verified on`() throws {
    let (attacker, other) = (try address("203.0.113.9"), try address("203.0.113.10"))
    func wait(
      _ address: IPAddress, _ credential: LoginThrottle.Credential = Self.one, after: Duration = .zero
    ) -> Duration? {
      throttle.takeVerification(address: address, credential: credential, now: start + after)
    }
    throttle.succeeded(address: attacker, credential: Self.two, now: start)
    for _ in 0..<1_000 { #expect(wait(attacker) == nil) }
    #expect(wait(attacker) == .milliseconds(2))
    #expect(wait(attacker, Self.two) == nil)
    #expect(wait(attacker, after: .milliseconds(2)) == nil)
    #expect(wait(attacker, after: .milliseconds(2)) == .milliseconds(2))
    #expect(wait(other) == nil)
    #expect(throttle.refusals == 2)
  }

  @Test func `one IPv6 customer is one address`() throws {
    for host in 0..<100 {
      throttle.failed(
        address: try address("2001:db8::\(String(host, radix: 16))"), identity: [UInt8(host)], now: start)
    }
    #expect(delay(try address("2001:db8::ffff"), user, start) != nil)
    #expect(delay(try address("2001:db8:0:1::1"), user, start) == nil)
  }

  @Test(arguments: [true, false])
  func `a flood from ever new networks takes no more memory than the limit`(isLogin: Bool) {
    var most = 0
    for number in 0..<UInt64(2 * LoginThrottle.capacity) {
      let address = IPAddress(v6High: number, low: 1)
      if isLogin {
        throttle.failed(address: address, identity: user, now: start)
      } else {
        _ = throttle.takeVerification(address: address, credential: Self.one, now: start)
      }
      most = max(most, throttle.remembered)
    }
    // A failed login counts for its address and for its name.
    #expect((65_536...65_537).contains(most))
  }

  @Test func `a flood of identities does not free the one that failed most`() throws {
    let attacker = try address("203.0.113.9")
    for _ in 0..<200 { throttle.failed(address: attacker, identity: user, now: start) }
    for number in 0..<(LoginThrottle.capacity + 10) {
      let other = IPAddress(v4: 0x0A00_0000 + UInt32(number))
      throttle.failed(address: other, identity: user, now: start)
    }
    #expect(delay(attacker, user, start) != nil)
  }
}
