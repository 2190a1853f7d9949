import TestSupport
import Testing

@testable import Upstream

@Suite struct FairQueueTests {
  private typealias Queue = FairQueue<Int>
  private let a = Queue.Place(origin: "https://one:443", path: "/a")
  private let b = Queue.Place(origin: "https://one:443", path: "/b")
  private let c = Queue.Place(origin: "https://one:443", path: "/c")
  private let other = Queue.Place(origin: "https://two:443", path: "/a")

  @Test func `a host runs so many and serves the others in their order`() {
    var queue = Queue(perHost: 2, perPath: 2, waitingPerHost: 10)
    #expect((1...5).map { queue.enter($0, at: a) } == [.runs, .runs, .waits, .waits, .waits])
    #expect(queue.leave(a) == 3)
    #expect(queue.leave(a) == 4)
    #expect(queue.leave(a) == 5)
    #expect(queue.leave(a) == nil)
    #expect(queue.leave(a) == nil)
    #expect(queue.isEmpty)
  }

  @Test func `one path leaves room for the others of its host`() {
    var queue = Queue(perHost: 3, perPath: 2, waitingPerHost: 10)
    #expect((1...3).map { queue.enter($0, at: a) } == [.runs, .runs, .waits])
    #expect(queue.enter(4, at: b) == .runs)
    #expect(queue.enter(5, at: b) == .waits)
    // b's slot is free and b is waiting, a is at its limit: b goes before a, though a came first.
    #expect(queue.leave(b) == 5)
    #expect(queue.leave(a) == 3)
  }

  @Test func `waiting paths of a host take turns`() {
    var queue = Queue(perHost: 1, perPath: 1, waitingPerHost: 10)
    _ = queue.enter(0, at: a)
    for (id, place) in [(1, a), (2, a), (3, a), (4, b), (5, b), (6, c)] {
      #expect(queue.enter(id, at: place) == .waits)
    }
    var order: [Int] = []
    var running = a
    let places = [1: a, 2: a, 3: a, 4: b, 5: b, 6: c]
    while let next = queue.leave(running) {
      order.append(next)
      running = places[next] ?? a
    }
    #expect(order == [1, 4, 6, 2, 5, 3])
    #expect(queue.isEmpty)
  }

  @Test func `hosts do not touch one another`() {
    var queue = Queue(perHost: 1, perPath: 1, waitingPerHost: 0)
    #expect(queue.enter(1, at: a) == .runs)
    #expect(queue.enter(2, at: a) == .refused)
    #expect(queue.enter(3, at: other) == .runs)
    #expect(queue.leave(other) == nil)
    #expect(queue.leave(a) == nil)
    #expect(queue.isEmpty)
  }

  @Test func `so many may wait and one more is refused`() {
    var queue = Queue(perHost: 1, perPath: 1, waitingPerHost: 2)
    #expect((1...4).map { queue.enter($0, at: $0 == 3 ? b : a) } == [.runs, .waits, .waits, .refused])
    #expect(queue.leave(a) == 2)
    #expect(queue.enter(5, at: a) == .waits)
  }

  @Test func `one who gives up waiting is passed over`() {
    var queue = Queue(perHost: 1, perPath: 1, waitingPerHost: 10)
    for id in 1...3 { _ = queue.enter(id, at: a) }
    _ = queue.enter(4, at: b)
    queue.abandon(2, at: a)
    queue.abandon(4, at: b)
    queue.abandon(99, at: a)
    #expect(queue.leave(a) == 3)
    #expect(queue.leave(a) == nil)
    #expect(queue.isEmpty)
  }

  @Test func `whatever happens, the limits hold and nobody is forgotten`() {
    var generator = SeededGenerator(42)
    for _ in 0..<200 {
      var queue = Queue(perHost: 3, perPath: 2, waitingPerHost: 5)
      let places = [a, b, c]
      var running: [Int: Queue.Place] = [:]
      var waiting: [Int: Queue.Place] = [:]
      for id in 0..<200 {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0, 1, 2:
          let place = places[Int.random(in: 0..<3, using: &generator)]
          switch queue.enter(id, at: place) {
          case .runs: running[id] = place
          case .waits: waiting[id] = place
          case .refused: #expect(waiting.count == 5)
          }
        case 3:
          guard let (done, place) = running.sorted(by: { $0.key < $1.key }).randomElement(using: &generator)
          else { continue }
          running[done] = nil
          if let next = queue.leave(place) { running[next] = waiting.removeValue(forKey: next) }
        default:
          guard let (gone, place) = waiting.sorted(by: { $0.key < $1.key }).randomElement(using: &generator)
          else { continue }
          waiting[gone] = nil
          queue.abandon(gone, at: place)
        }
        #expect(running.count <= 3)
        for place in places { #expect(running.values.count { $0 == place } <= 2) }
        // Nobody waits while there is room for him.
        for place in waiting.values where running.count < 3 {
          #expect(running.values.count { $0 == place } == 2)
        }
      }
    }
  }
}
