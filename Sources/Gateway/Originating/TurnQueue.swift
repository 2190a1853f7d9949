// Whose turn it is: callers one after the other, however much each of them has waiting, and so the subjects of each.

/// What waits, in a fair order. A caller with a thousand callbacks waiting delays another's first one by one turn, not
/// by a thousand; and so do one caller's subjects among themselves.
struct TurnQueue<Element: Sendable>: Sendable {
  fileprivate struct CallerLine: Sendable {
    var count = 0
    var subjects: [String: Line<Element>] = [:]
    var turns = Line<String>()
  }

  /// How many wait.
  private(set) var count = 0
  private var callers: [String: CallerLine] = [:]
  private var turns = Line<String>()

  /// How many callers have something waiting.
  var callerCount: Int { callers.count }

  /// How many of a caller's wait.
  func count(of caller: String) -> Int { callers[caller]?.count ?? 0 }

  /// Lets one wait, behind everything of its subject.
  mutating func append(_ element: Element, caller: String, subject: String) {
    if callers[caller] == nil { turns.append(caller) }
    callers[caller, default: CallerLine()].append(element, subject: subject)
    count += 1
  }

  /// Takes out the one whose turn it is.
  mutating func next() -> Element? {
    guard let caller = turns.removeFirst() else { return nil }
    guard let element = callers[caller]?.next() else { preconditionFailure("a caller in turn waits") }
    count -= 1
    if callers[caller]?.count == 0 { callers[caller] = nil } else { turns.append(caller) }
    return element
  }

  /// Takes out every one a condition holds for; the order of the others stays.
  mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
    var removed: [Element] = []
    for caller in Array(callers.keys) {
      callers[caller]?.removeAll(where: condition, into: &removed)
      if callers[caller]?.count == 0 { callers[caller] = nil }
    }
    if !removed.isEmpty { turns = turns.filter { callers[$0] != nil } }
    count -= removed.count
    return removed
  }

  /// How many would have their turn before a newcomer: at most so many, told without walking all lines.
  func ahead(ofCaller caller: String, subject: String) -> Int {
    guard count > 0 else { return 0 }
    // One of each of the caller's subjects for each of the newcomer's own.
    let own = callers[caller]?.ahead(of: subject) ?? 0
    // And, in that many rounds and the newcomer's, one of every other caller's.
    var others = 0
    for (name, line) in callers where name != caller { others += min(line.count, own + 1) }
    return min(count, own + others)
  }
}

extension TurnQueue.CallerLine {
  fileprivate mutating func append(_ element: Element, subject: String) {
    if subjects[subject] == nil { turns.append(subject) }
    subjects[subject, default: Line()].append(element)
    count += 1
  }

  fileprivate mutating func next() -> Element? {
    guard let subject = turns.removeFirst(), let element = subjects[subject]?.removeFirst() else {
      return nil
    }
    count -= 1
    if subjects[subject]?.isEmpty == true { subjects[subject] = nil } else { turns.append(subject) }
    return element
  }

  fileprivate mutating func removeAll(where condition: (Element) -> Bool, into removed: inout [Element]) {
    let before = removed.count
    for subject in Array(subjects.keys) {
      subjects[subject] = subjects[subject]?.filter { element in
        guard condition(element) else { return true }
        removed.append(element)
        return false
      }
      if subjects[subject]?.isEmpty == true { subjects[subject] = nil }
    }
    guard removed.count > before else { return }
    turns = turns.filter { subjects[$0] != nil }
    count -= removed.count - before
  }

  fileprivate func ahead(of subject: String) -> Int {
    min(count, ((subjects[subject]?.count ?? 0) + 1) * subjects.count)
  }
}

/// First in, first out, in constant time.
struct Line<Element: Sendable>: Sendable {
  private var elements: [Element?] = []
  private var start = 0

  /// How many there are.
  var count: Int { elements.count - start }
  /// Whether there is none.
  var isEmpty: Bool { count == 0 }

  /// Adds one at the end.
  mutating func append(_ element: Element) { elements.append(element) }

  /// Takes out the first.
  mutating func removeFirst() -> Element? {
    guard start < elements.count else { return nil }
    let first = elements[start]
    elements[start] = nil
    start += 1
    // Moving what is left when that is no more than what went: constant on average.
    if start * 2 >= elements.count {
      elements.removeFirst(start)
      start = 0
    }
    return first
  }

  /// Those a condition holds for, in order.
  func filter(_ condition: (Element) -> Bool) -> Line {
    var line = Line()
    for case let element? in elements[start...] where condition(element) { line.append(element) }
    return line
  }
}
