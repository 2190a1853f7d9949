import Testing

@testable import Gateway

@Suite struct TurnQueueTests {
  private func all(_ queue: inout TurnQueue<String>) -> [String] {
    var order: [String] = []
    while let next = queue.next() { order.append(next) }
    return order
  }

  @Test func `within one subject it is first come, first served`() {
    var queue = TurnQueue<String>()
    for number in 1...100 { queue.append("\(number)", caller: "a", subject: "x") }
    #expect(queue.count == 100)
    #expect(all(&queue) == (1...100).map { "\($0)" })
    #expect(queue.count == 0 && queue.callerCount == 0)
  }

  @Test func `callers take turns, whatever each has waiting`() {
    var queue = TurnQueue<String>()
    for number in 1...4 { queue.append("a\(number)", caller: "a", subject: "a") }
    for number in 1...2 { queue.append("b\(number)", caller: "b", subject: "b") }
    queue.append("c1", caller: "c", subject: "c")
    #expect(all(&queue) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"])
  }

  @Test func `so do the subjects of one caller, and they do not multiply its turns`() {
    var queue = TurnQueue<String>()
    for number in 1...3 { queue.append("ann\(number)", caller: "users", subject: "ann") }
    queue.append("bob1", caller: "users", subject: "bob")
    queue.append("p1", caller: "partner", subject: "partner")
    queue.append("p2", caller: "partner", subject: "partner")
    #expect(all(&queue) == ["ann1", "p1", "bob1", "p2", "ann2", "ann3"])
  }

  @Test func `what is taken out leaves the others in their order`() {
    var queue = TurnQueue<String>()
    for number in 1...3 {
      queue.append("a\(number)", caller: "a", subject: "a")
      queue.append("b\(number)", caller: "b", subject: "b")
    }
    #expect(Set(queue.removeAll { $0.hasPrefix("a") || $0 == "b2" }) == ["a1", "a2", "a3", "b2"])
    #expect(queue.count == 2 && queue.callerCount == 1 && queue.count(of: "a") == 0)
    queue.append("a4", caller: "a", subject: "a")
    #expect(all(&queue) == ["b1", "a4", "b3"])
  }

  @Test func `a newcomer's place is known without walking the lines`() {
    var queue = TurnQueue<String>()
    #expect(queue.ahead(ofCaller: "a", subject: "x") == 0)
    for number in 1...1000 { queue.append("\(number)", caller: "burst", subject: "burst") }
    #expect(queue.ahead(ofCaller: "burst", subject: "burst") == 1000)
    // Another caller's first one has one of the burst before it.
    #expect(queue.ahead(ofCaller: "quiet", subject: "quiet") == 1)
    queue.append("q1", caller: "quiet", subject: "quiet")
    #expect(queue.ahead(ofCaller: "quiet", subject: "quiet") == 3)
    // So has a new subject of the bursting caller, and the quiet one's.
    #expect(queue.ahead(ofCaller: "burst", subject: "other") == 2)
  }

  @Test func `no newcomer comes later than its place said`() throws {
    var dice = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      var queue = TurnQueue<Int>()
      let names = ["a", "b", "c", "d"]
      for number in 0..<Int.random(in: 0...60, using: &dice) {
        let caller = try #require(names.randomElement(using: &dice))
        queue.append(number, caller: caller, subject: try #require(names.randomElement(using: &dice)))
        if Bool.random(using: &dice), Bool.random(using: &dice) { _ = queue.next() }
      }
      let caller = try #require(names.randomElement(using: &dice))
      let subject = try #require(names.randomElement(using: &dice))
      let told = queue.ahead(ofCaller: caller, subject: subject)
      queue.append(-1, caller: caller, subject: subject)
      var ahead = 0
      while let next = queue.next(), next != -1 { ahead += 1 }
      #expect(ahead <= told)
    }
  }

  @Test func `a line keeps its order however it grows and shrinks`() {
    var line = Line<Int>()
    var expected: [Int] = []
    var next = 0
    for step in 0..<5000 {
      if step % 3 != 2 {
        line.append(next)
        expected.append(next)
        next += 1
      } else if let first = line.removeFirst() {
        #expect(first == expected.removeFirst())
      }
      #expect(line.count == expected.count)
    }
    while let first = line.removeFirst() { #expect(first == expected.removeFirst()) }
    #expect(expected.isEmpty && line.isEmpty)
  }
}
