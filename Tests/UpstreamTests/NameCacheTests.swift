// Tests of when host names are looked up, cached and forgotten.

import Platform
import Testing

@testable import Upstream

@Suite struct NameCacheTests {
  private let old = [IPAddress(v4: 0xC000_0201)]
  private let new = [IPAddress(v4: 0xC000_0202)]
  private let noName = LookupFailure(isTemporary: false, detail: "no such name")
  private let noAnswer = LookupFailure(isTemporary: true, detail: "no answer")

  private func at(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: Int64(seconds * 1_000_000_000))
  }

  /// A cache that learned a name's address at time 0.
  private func filled() -> NameCache {
    var cache = NameCache()
    _ = cache.ask("a", now: at(0))
    _ = cache.takeLookups(now: at(0))
    cache.finish("a", .success(old), now: at(0))
    return cache
  }

  @Test func `many who ask make one lookup`() {
    var cache = NameCache()
    for _ in 1...100 { #expect(cache.ask("a", now: at(0)) == .wait) }
    #expect(cache.ask("b", now: at(0)) == .wait)
    #expect(cache.takeLookups(now: at(0)) == ["a", "b"])
    #expect(cache.ask("a", now: at(1)) == .wait)
    #expect(cache.takeLookups(now: at(1)).isEmpty)
    cache.finish("a", .success(old), now: at(1))
    #expect(cache.ask("a", now: at(1)) == .addresses(old))
    #expect(cache.ask("b", now: at(1)) == .wait)
  }

  @Test func `an answer is fresh for 30 seconds and renewed beside its use for 120`() {
    var cache = filled()
    #expect(cache.ask("a", now: at(29.9)) == .addresses(old))
    #expect(cache.takeLookups(now: at(29.9)).isEmpty)
    #expect(cache.ask("a", now: at(30)) == .addresses(old))
    #expect(cache.takeLookups(now: at(30)) == ["a"])
    #expect(cache.ask("a", now: at(31)) == .addresses(old))
    #expect(cache.takeLookups(now: at(31)).isEmpty)
    cache.finish("a", .success(new), now: at(32))
    #expect(cache.ask("a", now: at(32)) == .addresses(new))
    #expect(cache.ask("a", now: at(61.9)) == .addresses(new))
    #expect(cache.takeLookups(now: at(61.9)).isEmpty)
  }

  @Test func `after 120 seconds one waits, and an old answer helps the impatient for an hour`() {
    var cache = filled()
    #expect(cache.ask("a", now: at(120)) == .wait)
    #expect(cache.takeLookups(now: at(120)) == ["a"])
    #expect(cache.old("a", now: at(121)) == old)
    #expect(cache.old("a", now: at(3599)) == old)
    #expect(cache.old("a", now: at(3600)) == nil)
    #expect(cache.old("b", now: at(0)) == nil)
  }

  @Test func `a resolver that fails leaves the old answer in use, for an hour`() {
    var cache = filled()
    _ = cache.ask("a", now: at(200))
    _ = cache.takeLookups(now: at(200))
    cache.finish("a", .failure(noAnswer), now: at(201))
    #expect(cache.ask("a", now: at(201)) == .addresses(old))
    #expect(cache.takeLookups(now: at(201)).isEmpty, "a failing resolver is asked again without a pause")
    #expect(cache.ask("a", now: at(202)) == .wait)
    _ = cache.takeLookups(now: at(3700))
    cache.finish("a", .failure(noAnswer), now: at(3700))
    #expect(cache.ask("a", now: at(3700)) == .failed(noAnswer))
  }

  @Test func `a failed renewal is tried again after a second`() {
    var cache = filled()
    _ = cache.ask("a", now: at(40))
    _ = cache.takeLookups(now: at(40))
    cache.finish("a", .failure(noAnswer), now: at(41))
    #expect(cache.ask("a", now: at(41.9)) == .addresses(old))
    #expect(cache.takeLookups(now: at(41.9)).isEmpty)
    #expect(cache.ask("a", now: at(42)) == .addresses(old))
    #expect(cache.takeLookups(now: at(42)) == ["a"])
  }

  @Test func `a name that is gone is gone`() {
    var cache = filled()
    _ = cache.ask("a", now: at(40))
    _ = cache.takeLookups(now: at(40))
    cache.finish("a", .failure(noName), now: at(41))
    #expect(cache.ask("a", now: at(41)) == .failed(noName))
    #expect(cache.old("a", now: at(41)) == nil)
  }

  @Test func `a failure is remembered for one second`() {
    var cache = NameCache()
    _ = cache.ask("a", now: at(0))
    _ = cache.takeLookups(now: at(0))
    cache.finish("a", .failure(noName), now: at(1))
    #expect(cache.ask("a", now: at(1.9)) == .failed(noName))
    #expect(cache.takeLookups(now: at(1.9)).isEmpty)
    #expect(cache.ask("a", now: at(2)) == .wait)
    #expect(cache.takeLookups(now: at(2)) == ["a"])
  }

  @Test func `a lookup stuck for five seconds gets another beside it, and any success counts`() {
    var cache = NameCache()
    _ = cache.ask("a", now: at(0))
    #expect(cache.takeLookups(now: at(0)) == ["a"])
    _ = cache.ask("a", now: at(4.9))
    #expect(cache.takeLookups(now: at(4.9)).isEmpty)
    _ = cache.ask("a", now: at(5))
    #expect(cache.takeLookups(now: at(5)) == ["a"])
    cache.finish("a", .success(new), now: at(6))
    // The stuck lookup fails at last, which changes nothing.
    cache.finish("a", .failure(noAnswer), now: at(30))
    #expect(cache.ask("a", now: at(31)) == .addresses(new))
  }

  @Test func `no more than 16 lookups run at once, and the rest follow in order`() {
    var cache = NameCache()
    let names = (1...40).map { "n\($0)" }
    for name in names { _ = cache.ask(name, now: at(0)) }
    #expect(cache.takeLookups(now: at(0)) == Array(names[..<16]))
    #expect(cache.takeLookups(now: at(0)).isEmpty)
    cache.finish("n3", .failure(noName), now: at(0))
    cache.finish("n4", .success(new), now: at(0))
    #expect(cache.takeLookups(now: at(0)) == ["n17", "n18"])
  }

  @Test func `names are forgotten rather than kept without end`() {
    var cache = NameCache(policy: .init(names: 100))
    for number in 0..<1000 {
      let name = "n\(number)"
      _ = cache.ask(name, now: at(0))
      _ = cache.takeLookups(now: at(0))
      cache.finish(name, .success(new), now: at(0))
      #expect(cache.count <= 100)
    }
  }
}
