// Tests of how many bad JWTs from one address are answered before the address is throttled.

import Platform
import Testing

@testable import Callers

@Suite struct TokenThrottleTests {
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

  @Test func `a hundred bad tokens are answered, then one each 600 ms, at that address alone`() throws {
    let throttle = TokenThrottle()
    let address = try #require(IPAddress("203.0.113.9"))
    for _ in 0..<100 { #expect(throttle.failed(address: address, now: start) == nil) }
    for _ in 0..<50 { #expect(throttle.failed(address: address, now: start) == .milliseconds(600)) }
    #expect(throttle.refusals == 50)
    #expect(throttle.failed(address: try #require(IPAddress("203.0.113.10")), now: start) == nil)
    let later = start + .milliseconds(600)
    #expect(throttle.failed(address: address, now: later) == nil)
    #expect(throttle.failed(address: address, now: later) == .milliseconds(600))
    for _ in 0..<100 { #expect(throttle.failed(address: address, now: later + .seconds(60)) == nil) }
  }

  @Test func `a customer's IPv6 network is one address`() throws {
    let throttle = TokenThrottle()
    for number in 0..<100 {
      #expect(
        throttle.failed(address: IPAddress(v6High: 0x2001_0DB8_0000_0001, low: UInt64(number)), now: start)
          == nil)
    }
    #expect(throttle.failed(address: IPAddress(v6High: 0x2001_0DB8_0000_0001, low: 100), now: start) != nil)
    #expect(throttle.failed(address: IPAddress(v6High: 0x2001_0DB8_0000_0002, low: 0), now: start) == nil)
  }

  @Test func `a flood from many addresses does not free the one that has failed most`() throws {
    let throttle = TokenThrottle()
    let address = try #require(IPAddress("203.0.113.9"))
    for _ in 0..<101 { _ = throttle.failed(address: address, now: start) }
    for number in 0..<UInt32(TokenThrottle.capacity + 1) {
      _ = throttle.failed(address: IPAddress(v4: number), now: start)
    }
    #expect(throttle.failed(address: address, now: start) != nil)
  }

  @Test func `a flood from ever new networks takes no more memory than the limit`() {
    let throttle = TokenThrottle()
    var most = 0
    for number in 0..<UInt64(2 * TokenThrottle.capacity) {
      _ = throttle.failed(address: IPAddress(v6High: number, low: 1), now: start)
      most = max(most, throttle.remembered)
    }
    #expect(most == 65_536)
  }
}
