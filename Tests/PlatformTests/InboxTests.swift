// Tests of the queue between threads and an event loop.

import Synchronization
import Testing

@testable import Platform

/// An object whose release can be observed.
private final class Token: Sendable {
  static let live = Atomic<Int>(0)
  let value: Int
  init(_ value: Int) {
    self.value = value
    Self.live.add(1, ordering: .relaxed)
  }
  deinit { Self.live.subtract(1, ordering: .relaxed) }
}

/// Holds an inbox for several tasks.
private final class Shared: Sendable {
  let inbox = Inbox<Token>()
}

@Test func `an inbox gives back in order and says when it was empty`() {
  let inbox = Inbox<Int>()
  var empty = [inbox.isEmpty, inbox.add(1), inbox.add(2), inbox.isEmpty]
  #expect(empty == [true, true, false, false])
  var taken: [Int] = []
  inbox.drain { value in
    taken.append(value)
    // An element that is added meanwhile waits for the next round.
    if value == 1 { empty.append(inbox.add(3)) }
  }
  #expect(taken == [1, 2])
  inbox.drain { taken.append($0) }
  #expect(taken == [1, 2, 3])
  empty.append(inbox.isEmpty)
  #expect(empty.suffix(2) == [true, true])
}

@Test func `many add at once, nothing is lost, doubled, leaked or put out of its writer's order`() async {
  let writers = 4
  let each = 5000
  var taken: [[Int]] = Array(repeating: [], count: writers)
  do {
    let shared = Shared()
    await withTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask { for i in 0..<each { _ = shared.inbox.add(Token(writer * each + i)) } }
      }
      while taken.reduce(0, { $0 + $1.count }) < writers * each {
        shared.inbox.drain { taken[$0.value / each].append($0.value % each) }
        await Task.yield()
      }
    }
    for writer in taken { #expect(writer == Array(0..<each)) }
    // An element that nobody takes is released with the inbox.
    _ = shared.inbox.add(Token(0))
    _ = shared.inbox.add(Token(1))
    #expect(Token.live.load(ordering: .relaxed) == 2)
  }
  #expect(Token.live.load(ordering: .relaxed) == 0)
}
