// Tests of the limits on cached session tokens.

import JOSE
import Platform
import TestSupport
import Testing

@testable import ChatDesk

@Suite struct SessionCacheTests {
  private let now = MonotonicTime(nanoseconds: 0)

  private func token(_ name: String, _ text: String = "t", life: Int = 60) throws -> SessionToken {
    try SessionToken(
      parsing: Array(#"{"token":"\#(text)"}"#.utf8), user: user(name).id, sent: (now, 0), life: .seconds(life)
    )
  }

  @Test func `as many users as it may have are kept, and with one more the earlier half goes`() throws {
    var cache = SessionCache(mostUsers: 6)
    for number in 1...6 { cache.keep(try token("user-\(number)")) }
    #expect(cache.count == 6)
    #expect(cache.token(of: user("user-1").id, now: now) != nil)
    cache.keep(try token("user-7"))
    #expect(cache.count == 4)
    for number in 1...7 {
      #expect((cache.token(of: user("user-\(number)").id, now: now) != nil) == (number > 3), "\(number)")
    }
  }

  @Test func `long tokens are bounded by their bytes`() throws {
    // Each token has ten bytes, including its user.
    var cache = SessionCache(mostBytes: 60)
    for number in 1...6 { cache.keep(try token("user\(number)", "token")) }
    #expect(cache.count == 6)
    cache.keep(try token("user7", "token"))
    #expect(cache.count == 4)
    // A token that is too long for one half of the cache has that half to itself.
    cache.keep(try token("user8", String(repeating: "t", count: 100)))
    #expect(cache.token(of: user("user8").id, now: now) != nil)
  }

  @Test func `a user has one token, the last, in whichever half the first is`() throws {
    for others in 0...3 {
      var cache = SessionCache(mostUsers: 6)
      cache.keep(try token("ann", "first"))
      for number in 0..<others { cache.keep(try token("user-\(number)")) }
      cache.keep(try token("ann", "second"))
      #expect(cache.token(of: user("ann").id, now: now)?.secret.exposedString() == "second")
      #expect(cache.count == others + 1)
      cache.removeAll()
      #expect(cache.count == 0)
    }
  }
}
