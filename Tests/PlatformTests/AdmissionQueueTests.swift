// Tests of the queue that decides which work starts, waits or is refused.

import TestSupport
import Testing

@testable import Platform

@Suite struct AdmissionQueueTests {
  typealias Queue = AdmissionQueue<Int>
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let app = Queue.Party("app")
  private let partner = Queue.Party("partner")

  private func at(_ seconds: Double) -> MonotonicTime { start + .seconds(seconds) }

  /// A queue with one place whose elements take six seconds, and the time at which its current element
  /// started.
  private func sixSeconds(_ limits: Queue.Limits = .init(running: 1, waiting: 100)) -> (Queue, MonotonicTime)
  {
    var queue = Queue(limits)
    _ = queue.enter(-2, deadline: at(100), now: at(0))
    queue.leave(-2, .finished, now: at(6))
    #expect(queue.enter(-1, deadline: at(106), now: at(6)) == .starts)
    return (queue, at(6))
  }

  // MARK: Places

  @Test func `as many run as there are places, and the others start in their order`() {
    var queue = Queue(.init(running: 2, waiting: 10))
    #expect(queue.enter(1, deadline: at(10), now: start) == .starts)
    #expect(queue.enter(2, deadline: at(10), now: start) == .starts)
    for id in 3...5 { #expect(queue.enter(id, deadline: at(10), now: start) == .waits(until: at(9))) }
    #expect(queue.admit(now: start) == .init())
    queue.leave(1, .unused, now: start)
    #expect(queue.admit(now: start) == .init(starts: [3]))
    queue.leave(3, .unused, now: start)
    queue.leave(2, .unused, now: start)
    #expect(queue.admit(now: start) == .init(starts: [4, 5]))
    #expect((queue.running, queue.waiting) == (2, 0))
    queue.leave(4, .unused, now: start)
    queue.leave(5, .unused, now: start)
    #expect(queue.isEmpty)
  }

  @Test func `a newcomer does not overtake what waits for a place that is free`() {
    var queue = Queue(.init(running: 1, waiting: 10))
    for id in 1...2 { _ = queue.enter(id, deadline: at(10), now: start) }
    queue.leave(1, .unused, now: start)
    #expect(queue.enter(3, deadline: at(10), now: start) == .waits(until: at(9)))
    #expect(queue.admit(now: start) == .init(starts: [2]))
  }

  @Test func `more places count at once, fewer as elements end`() {
    var queue = Queue(.init(running: 1, waiting: 10))
    for id in 1...4 { _ = queue.enter(id, deadline: at(10), now: start) }
    queue.limits.running = 3
    #expect(queue.admit(now: start) == .init(starts: [2, 3]))
    queue.limits.running = 1
    queue.leave(1, .unused, now: start)
    queue.leave(2, .unused, now: start)
    #expect(queue.admit(now: start) == .init())
    queue.leave(3, .unused, now: start)
    #expect(queue.admit(now: start) == .init(starts: [4]))
  }

  @Test func `an element that never ran gives no place back`() {
    var queue = Queue(.init(running: 1, waiting: 10))
    for id in 1...2 { _ = queue.enter(id, deadline: at(10), now: start) }
    queue.leave(2, .finished, now: start)
    queue.leave(7, .finished, now: start)
    #expect((queue.running, queue.waiting) == (1, 1))
    #expect(queue.admit(now: start) == .init())
  }

  @Test func `what is abandoned is passed over, however much of it there is`() {
    var queue = Queue(.init(running: 1, waiting: 1000))
    for id in 0...500 {
      _ = queue.enter(id, party: id % 2 == 0 ? app : partner, deadline: at(10), now: start)
    }
    #expect(queue.abandon(0) == false)
    #expect(queue.abandon(501) == false)
    for id in 1..<500 {
      #expect(queue.abandon(id) == true)
      #expect(queue.abandon(id) == false)
    }
    #expect(queue.waiting == 1)
    queue.leave(0, .unused, now: start)
    #expect(queue.admit(now: start) == .init(starts: [500]))
    queue.leave(500, .unused, now: start)
    #expect(queue.isEmpty && queue.nextExpiry == nil)
  }

  @Test func `an ID may come back while its first entry is still in the line`() {
    var queue = Queue(.init(running: 1, waiting: 10))
    for id in 0...3 { _ = queue.enter(id, deadline: at(10), now: start) }
    #expect(queue.abandon(1) == true)
    _ = queue.enter(1, deadline: at(10), now: start)
    var order: [Int] = []
    for id in [0, 2, 3] {
      queue.leave(id, .unused, now: start)
      order += queue.admit(now: start).starts
    }
    #expect(order == [2, 3, 1])
  }

  // MARK: Time

  @Test func `what would come too late is refused at once, with the time after which it would not`() {
    var (queue, now) = sixSeconds()
    // An element takes 6 s, and the queue allows 7.5 s for it: the second would start after 12 s, the third
    // after 18 s.
    for id in 1...2 {
      #expect(queue.enter(id, deadline: now + .seconds(20), now: now) == .waits(until: now + .seconds(14)))
    }
    let tooLate = Queue.Admission.refused(retryAfter: .milliseconds(5500))
    #expect(queue.enter(3, deadline: now + .seconds(20), now: now) == tooLate)
    #expect(queue.refusal(deadline: now + .seconds(20), now: now) == .milliseconds(5500))
    #expect(queue.refusal(deadline: now + .milliseconds(25_500), now: now) == nil)
    #expect((queue.running, queue.waiting) == (1, 2))
  }

  @Test func `a time to retry is between a second and a minute`() {
    let (queue, now) = sixSeconds()
    #expect(queue.refusal(deadline: now + .milliseconds(13_490), now: now) == .seconds(1))
    #expect(queue.refusal(deadline: now + .seconds(-600), now: now) == .seconds(60))
    #expect(queue.retryAfterLate(now: now) == .milliseconds(13_500))
  }

  @Test func `what can no longer end in time is taken out, and never started`() {
    var (queue, now) = sixSeconds()
    #expect(queue.enter(1, deadline: now + .seconds(20), now: now) == .waits(until: now + .seconds(14)))
    #expect(queue.enter(2, deadline: now + .seconds(30), now: now) == .waits(until: now + .seconds(24)))
    #expect(queue.nextExpiry == now + .seconds(14))
    #expect(queue.expire(now: now + .milliseconds(13_999)) == [])
    #expect(queue.expire(now: now + .seconds(14)) == [1])
    #expect(queue.nextExpiry == now + .seconds(24))
    // A place becomes free before the queue is checked again.
    queue.leave(-1, .finished, now: now + .seconds(25))
    #expect(queue.admit(now: now + .seconds(25)) == .init(late: [2]))
    #expect(queue.isEmpty && queue.nextExpiry == nil)
  }

  @Test func `what has become slow meanwhile starts nothing that cannot end`() {
    var queue = Queue(.init(running: 1, waiting: 10))
    _ = queue.enter(1, deadline: at(20), now: start)
    // No duration is known yet, so the element may wait until one second is left.
    #expect(queue.enter(2, deadline: at(20), now: start) == .waits(until: at(19)))
    queue.leave(1, .finished, now: at(15))
    #expect(queue.admit(now: at(15)) == .init(late: [2]))
  }

  @Test func `what hangs is known to be slow before anything has ended`() {
    var queue = Queue(.init(running: 1, waiting: 10))
    _ = queue.enter(1, deadline: at(100), now: start)
    #expect(queue.refusal(deadline: at(20), now: start) == nil)
    #expect(queue.refusal(deadline: at(32), now: at(12)) != nil)
    queue.leave(1, .unused, now: at(12))
    #expect(queue.enter(2, deadline: at(32), now: at(12)) == .starts)
    // An element that never started its work does not count for the duration.
    #expect(queue.refusal(deadline: at(32), now: at(12)) == nil)
  }

  @Test func `a slow first one refuses nobody where the others may run together after it`() {
    var queue = Queue(.init(running: 1, later: 100, waiting: 1000))
    #expect(queue.enter(0, deadline: at(10), now: start) == .starts)
    // The first element has run alone for a second. Of the 450 that now wait, the last starts in the fifth
    // round after it.
    for id in 1...450 { #expect(queue.enter(id, deadline: at(11), now: at(1)) == .waits(until: at(10))) }
    #expect(queue.enter(999, deadline: at(6), now: at(1)) == .refused(retryAfter: .seconds(1.75)))
    queue.limits.running = 100
    queue.leave(0, .finished, now: at(1))
    #expect(queue.admit(now: at(1)).starts == Array(1...100))
    // If only one may run, the same queue is too long.
    var alone = Queue(.init(running: 1, waiting: 1000))
    _ = alone.enter(0, deadline: at(10), now: start)
    let waiting = (1...450).count { alone.enter($0, deadline: at(11), now: at(1)) == .waits(until: at(10)) }
    #expect(waiting == 8)
  }

  @Test func `a free place is given whatever is known, since nothing else makes it better known`() {
    var (queue, now) = sixSeconds()
    queue.leave(-1, .finished, now: now)
    #expect(queue.enter(1, deadline: now + .seconds(1), now: now) == .starts)
  }

  @Test func `an element that was cut short takes at least its time, not just that`() {
    var (queue, now) = sixSeconds()
    queue.leave(-1, .cutShort, now: now + .seconds(1))
    _ = queue.enter(1, deadline: now + .seconds(100), now: now + .seconds(1))
    let deadline = now + .seconds(1) + .milliseconds(13_499)
    #expect(queue.refusal(deadline: deadline, now: now + .seconds(1)) != nil, "6 s as before")
    queue.leave(1, .cutShort, now: now + .seconds(15))
    _ = queue.enter(2, deadline: now + .seconds(100), now: now + .seconds(15))
    #expect(queue.refusal(deadline: now + .seconds(15 + 14), now: now + .seconds(15)) != nil, "more by now")
  }

  @Test func `what was learned more than a minute ago is forgotten`() {
    var (queue, now) = sixSeconds()
    queue.leave(-1, .finished, now: now + .seconds(6))
    #expect(!queue.isForgotten(at: now + .seconds(66)))
    var later = queue
    _ = queue.enter(1, deadline: now + .seconds(100), now: now + .seconds(66))
    #expect(queue.refusal(deadline: now + .seconds(70), now: now + .seconds(66)) != nil)
    #expect(later.isForgotten(at: now + .seconds(67)))
    _ = later.enter(1, deadline: now + .seconds(100), now: now + .seconds(67))
    #expect(later.refusal(deadline: now + .seconds(71), now: now + .seconds(67)) == nil)
  }

  // MARK: Room

  @Test func `what waits is bounded, in number and in bytes`() {
    var queue = Queue(.init(running: 1, waiting: 3, waitingBytes: 100))
    _ = queue.enter(0, bytes: 500, deadline: at(10), now: start)
    #expect(queue.enter(1, bytes: 101, deadline: at(10), now: start) == .refused(retryAfter: .seconds(1)))
    #expect(queue.enter(2, bytes: 100, deadline: at(10), now: start) == .waits(until: at(9)))
    #expect(queue.enter(3, bytes: 1, deadline: at(10), now: start) == .refused(retryAfter: .seconds(1)))
    for id in 4...5 { #expect(queue.enter(id, deadline: at(10), now: start) == .waits(until: at(9))) }
    #expect(queue.enter(6, deadline: at(10), now: start) == .refused(retryAfter: .seconds(1)))
    #expect(queue.abandon(2) == true)
    #expect(queue.enter(7, bytes: 100, deadline: at(10), now: start) == .waits(until: at(9)))
    #expect(queue.removeAllWaiting() == [4, 5, 7])
    #expect(queue.waiting == 0 && queue.nextExpiry == nil)
    #expect(queue.enter(8, bytes: 100, deadline: at(10), now: start) == .waits(until: at(9)))
  }

  @Test func `no party takes more than half of the room`() {
    var queue = Queue(.init(running: 1, waiting: 6, waitingBytes: 100))
    _ = queue.enter(0, party: app, deadline: at(10), now: start)
    for id in 1...3 { _ = queue.enter(id, party: app, deadline: at(10), now: start) }
    #expect(queue.refusal(app, deadline: at(10), now: start) == .seconds(1))
    #expect(queue.refusal(partner, bytes: 50, deadline: at(10), now: start) == nil)
    #expect(queue.refusal(partner, bytes: 51, deadline: at(10), now: start) == .seconds(1))
  }

  @Test func `no member of a party takes more than half of its party's room`() {
    let ann = Queue.Party("users", member: "ann")
    let bob = Queue.Party("users", member: "bob")
    var queue = Queue(.init(running: 1, waiting: 8))
    _ = queue.enter(0, party: ann, deadline: at(10), now: start)
    for id in 1...2 { _ = queue.enter(id, party: ann, deadline: at(10), now: start) }
    #expect(queue.refusal(ann, deadline: at(10), now: start) == .seconds(1))
    #expect(queue.refusal(bob, deadline: at(10), now: start) == nil)
    // The share also applies to time: an element of bob's must end within five of the twenty seconds.
    var (timed, now) = sixSeconds()
    _ = timed.enter(1, party: ann, deadline: now + .seconds(20), now: now)
    #expect(timed.refusal(ann, deadline: now + .seconds(20), now: now) != nil)
    #expect(timed.refusal(bob, deadline: now + .seconds(20), now: now) == nil)
    timed.leave(-1, .unused, now: now)
    #expect(timed.admit(now: now).starts == [1])
    #expect(timed.refusal(ann, deadline: now + .seconds(20), now: now) == nil)
  }

  @Test func `parties take turns, whatever each has waiting`() {
    var queue = Queue(.init(running: 1, waiting: 1000))
    _ = queue.enter(0, party: app, deadline: at(10), now: start)
    for id in 1...4 { _ = queue.enter(id, party: app, deadline: at(10), now: start) }
    for id in 11...12 { _ = queue.enter(id, party: partner, deadline: at(10), now: start) }
    _ = queue.enter(21, party: .init("third"), deadline: at(10), now: start)
    var order: [Int] = []
    var running = 0
    while queue.running > 0 {
      queue.leave(running, .unused, now: start)
      guard let next = queue.admit(now: start).starts.first else { break }
      order.append(next)
      running = next
    }
    #expect(order == [1, 11, 21, 2, 12, 3, 4])
  }

  @Test func `a burst of one party leaves another's first its place in time`() {
    var (queue, now) = sixSeconds()
    for id in 1...2 { _ = queue.enter(id, party: app, deadline: now + .seconds(20), now: now) }
    #expect(queue.refusal(app, deadline: now + .seconds(20), now: now) != nil)
    #expect(queue.enter(3, party: partner, deadline: now + .seconds(20), now: now) != .starts)
    queue.leave(-1, .finished, now: now + .seconds(6))
    #expect(queue.admit(now: now + .seconds(6)).starts == [1])
    queue.leave(1, .finished, now: now + .seconds(12))
    #expect(queue.admit(now: now + .seconds(12)).starts == [3])
  }

  @Test(arguments: 0..<50) func `whatever happens, limits hold and nothing is lost or told twice`(
    seed: UInt64
  ) {
    var dice = SeededGenerator(seed)
    var queue = Queue(.init(running: 3, waiting: 12, waitingBytes: 60))
    var (running, waiting): (Set<Int>, [Int: Int]) = ([], [:])
    var now = start
    for id in 0..<400 {
      now = now + .milliseconds(Int64(dice.below(40)))
      switch dice.below(8) {
      case 0...3:
        let party =
          dice.chance(20)
          ? nil : Queue.Party("\(dice.below(3))", member: dice.chance(50) ? "\(dice.below(2))" : nil)
        let bytes = dice.below(10)
        let deadline = now + .milliseconds(Int64(dice.below(500)))
        let refusal = queue.refusal(party, bytes: bytes, deadline: deadline, now: now)
        switch queue.enter(id, party: party, bytes: bytes, deadline: deadline, now: now) {
        case .starts: running.insert(id)
        case .waits: waiting[id] = bytes
        case .refused(let wait): #expect(refusal == wait)
        }
      case 4...5:
        guard let done = running.sorted().randomElement(using: &dice) else { continue }
        running.remove(done)
        queue.leave(done, dice.one(of: [.finished, .cutShort, .unused]), now: now)
      case 6:
        guard let gone = waiting.keys.sorted().randomElement(using: &dice) else { continue }
        waiting[gone] = nil
        #expect(queue.abandon(gone) == true)
      default:
        for late in queue.expire(now: now) { #expect(waiting.removeValue(forKey: late) != nil) }
      }
      let admitted = queue.admit(now: now)
      for late in admitted.late { #expect(waiting.removeValue(forKey: late) != nil) }
      for next in admitted.starts {
        #expect(waiting.removeValue(forKey: next) != nil)
        running.insert(next)
      }
      #expect(queue.running == running.count && running.count <= 3)
      #expect(queue.waiting == waiting.count && waiting.count <= 12)
      #expect(waiting.values.reduce(0, +) <= 60)
      #expect(running.count == 3 || waiting.isEmpty, "something waits beside a free place")
      #expect((queue.nextExpiry == nil) == waiting.isEmpty)
    }
    #expect(queue.removeAllWaiting() == waiting.keys.sorted())
  }
}
