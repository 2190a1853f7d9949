import Platform
import Testing

@testable import Gateway

@Suite struct LoginThrottleTests {
  private let throttle = LoginThrottle()
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let user = Array("user".utf8)

  private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

  @Test func `ten failures are heard, the eleventh waits as long as is said`() throws {
    let attacker = try address("203.0.113.9")
    for _ in 0..<10 {
      #expect(throttle.wait(address: attacker, identity: user, now: start) == nil)
      throttle.failed(address: attacker, identity: user, now: start)
    }
    let wait = try #require(throttle.wait(address: attacker, identity: user, now: start))
    #expect(wait == .seconds(6))
    #expect(throttle.wait(address: attacker, identity: user, now: start + (wait - .nanoseconds(1))) != nil)
    #expect(throttle.wait(address: attacker, identity: user, now: start + wait) == nil)
  }

  @Test func `failures elsewhere do not lock the right user out`() throws {
    for host in 1...200 {
      let attacker = try address("198.51.100.\(host)")
      for _ in 0..<10 { throttle.failed(address: attacker, identity: user, now: start) }
    }
    #expect(throttle.wait(address: try address("203.0.113.1"), identity: user, now: start) == nil)
  }

  @Test func `an address that guesses many names is heard 100 times`() throws {
    let attacker = try address("203.0.113.9")
    var heard = 0
    for guess in 0..<1000 {
      let identity = Array("user\(guess)".utf8)
      guard throttle.wait(address: attacker, identity: identity, now: start) == nil else { continue }
      heard += 1
      throttle.failed(address: attacker, identity: identity, now: start)
    }
    #expect(heard == 100)
  }

  @Test func `one IPv6 customer is one address`() throws {
    for host in 0..<100 {
      throttle.failed(
        address: try address("2001:db8::\(String(host, radix: 16))"), identity: [UInt8(host)], now: start)
    }
    #expect(throttle.wait(address: try address("2001:db8::ffff"), identity: user, now: start) != nil)
    #expect(throttle.wait(address: try address("2001:db8:0:1::1"), identity: user, now: start) == nil)
  }

  @Test func `a flood of identities does not free the one that failed most`() throws {
    let attacker = try address("203.0.113.9")
    for _ in 0..<200 { throttle.failed(address: attacker, identity: user, now: start) }
    for number in 0..<(LoginThrottle.capacity + 10) {
      let other = IPAddress(v4: 0x0A00_0000 + UInt32(number))
      throttle.failed(address: other, identity: user, now: start)
    }
    #expect(throttle.wait(address: attacker, identity: user, now: start) != nil)
  }
}
