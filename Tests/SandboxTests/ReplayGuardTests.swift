// Tests of how the emulator refuses an assertion that was used before.

import Testing

@testable import Sandbox

/// A wrapper that lets an expectation call mutating functions.
private final class Subject {
  var subject: ReplayGuard
  init(_ subject: ReplayGuard) { self.subject = subject }

  func insert(_ jwtID: String, until expirationTime: Int64, now: Int64) -> Bool {
    subject.insert(jwtID, until: expirationTime, now: now)
  }
}

@Suite struct ReplayGuardTests {
  @Test func `an id is new once`() {
    let replays = Subject(ReplayGuard())
    #expect(replays.insert("a", until: 300, now: 0))
    #expect(!replays.insert("a", until: 300, now: 0))
    #expect(!replays.insert("a", until: 599, now: 299))
    #expect(replays.insert("b", until: 300, now: 299))
  }

  @Test func `an id is forgotten when its assertion has expired`() {
    let replays = Subject(ReplayGuard())
    for number in 0..<100 { #expect(replays.insert("id-\(number)", until: 300, now: 0)) }
    #expect(replays.subject.count == 100)
    #expect(replays.insert("later", until: 600, now: 300))
    #expect(replays.subject.count == 1)
  }

  @Test func `the oldest goes when there is no room`() {
    let replays = Subject(ReplayGuard(capacity: 3))
    for id in ["a", "b", "c", "d"] { #expect(replays.insert(id, until: 300, now: 0)) }
    #expect(replays.subject.count == 3)
    #expect(!replays.insert("b", until: 300, now: 0))
    #expect(replays.insert("a", until: 300, now: 0))
  }
}
