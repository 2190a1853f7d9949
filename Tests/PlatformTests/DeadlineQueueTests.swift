// Tests of the queue of deadlines.

import Testing

@testable import Platform

private func at(_ point: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: point) }

private func due(_ queue: inout DeadlineQueue, _ now: Int64) -> [Int] {
  var slots: [Int] = []
  while let slot = queue.next(due: at(now)) { slots.append(slot) }
  return slots
}

@Test func `deadlines come in order and once`() {
  var queue = DeadlineQueue()
  queue.set(2, at(30))
  queue.set(0, at(10))
  queue.set(1, at(20))
  #expect(queue.earliest == at(10))
  #expect(due(&queue, 9) == [])
  #expect(due(&queue, 20) == [0, 1])
  #expect(due(&queue, 1000) == [2])
  #expect(due(&queue, 2000) == [])
  #expect(queue.earliest == nil)
}

@Test func `a deadline that is moved later does not come at its old point`() {
  var queue = DeadlineQueue()
  queue.set(0, at(10))
  queue.set(0, at(50))
  // The queue may check at the old time. Nothing is due then.
  #expect(due(&queue, 49) == [])
  #expect(queue.earliest == at(50))
  #expect(due(&queue, 50) == [0])
}

@Test func `a deadline that is moved earlier comes at its new point`() {
  var queue = DeadlineQueue()
  queue.set(0, at(50))
  queue.set(1, at(40))
  queue.set(0, at(10))
  #expect(queue.earliest == at(10))
  #expect(due(&queue, 10) == [0])
  #expect(due(&queue, 60) == [1])
}

@Test func `a removed deadline does not fire, and its slot can be used again`() {
  var queue = DeadlineQueue()
  queue.set(0, at(10))
  queue.set(1, at(20))
  queue.set(0, nil)
  #expect(due(&queue, 15) == [])
  queue.remove(1)
  #expect(queue.count == 0)
  #expect(due(&queue, 100) == [])
  queue.set(1, at(5))
  #expect(due(&queue, 100) == [1])
  queue.remove(7)
}

@Test func `thousands of random moves agree with a plain table`() {
  var state: UInt64 = 7
  func random(_ bound: UInt64) -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state >> 33) % bound
  }
  var queue = DeadlineQueue()
  var table: [Int: Int64] = [:]
  var now: Int64 = 0
  for _ in 0..<20_000 {
    let slot = Int(random(40))
    switch random(10) {
    case 0:
      queue.remove(slot)
      table[slot] = nil
    case 1:
      queue.set(slot, nil)
      table[slot] = nil
    case 2:
      now += Int64(random(200))
      let expected = table.filter { $0.value <= now }
      let got = due(&queue, now)
      #expect(Set(got) == Set(expected.keys) && got.count == expected.count)
      // The deadlines come in order of time.
      #expect(got.map { expected[$0] ?? 0 } == expected.values.sorted())
      for slot in got { table[slot] = nil }
    default:
      let point = now + 1 + Int64(random(1000))
      queue.set(slot, at(point))
      table[slot] = point
    }
    if let earliest = queue.earliest, let first = table.values.min() {
      #expect(earliest.nanoseconds <= first)
    } else {
      #expect(table.isEmpty)
    }
    #expect(queue.count >= table.count && queue.count <= 40)
  }
}
