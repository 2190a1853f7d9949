// A queue for work with deadlines, which refuses early what could not finish in time.

public import Texts

/// A queue that decides which elements run now, wait or are refused. Only a limited number may run at once,
/// and each has a deadline.
///
/// A queue that serves the longest wait first collapses under a small overload: it grows until each element
/// starts with too little time left, fails, and has used a slot for nothing. So this queue admits an element
/// by the time that it has left:
///
/// 1. If a slot is free and nothing waits, it starts, whatever the estimate: only a run can correct a bad
///    estimate.
/// 2. If it would start too late to end before its deadline, by the durations of recent runs, it is refused
///    at once.
/// 3. Otherwise it waits. When it can no longer end in time, it is removed, and never starts.
///
/// Parties take turns, so that a party with a thousand waiting elements delays the first element of another
/// by one turn. Within a party, elements start in the order in which they came. A party may use at most half
/// of the room for waiting elements, and a member of a party at most half of its party's, in time as well. So
/// none of them can use up the room of all others.
///
/// The queue has no clock and no lock. Its owner passes the time and carries out the actions.
public struct AdmissionQueue<ID: Hashable & Sendable>: Sendable {
  /// The maximum numbers of running and waiting elements, and the maximum size of the waiting ones.
  public struct Limits: Hashable, Sendable {
    /// The maximum number of elements that run at once.
    public var running: Int
    /// The number of elements that can run at once after the present ones have ended, for estimates; ignored
    /// unless it is more than `running`. For example, the first request on an HTTP/2 connection runs alone.
    public var later: Int
    /// The maximum number of waiting elements.
    public var waiting: Int
    /// The maximum size of all waiting elements together, in bytes.
    public var waitingBytes: Int

    public init(running: Int, later: Int = 0, waiting: Int, waitingBytes: Int = .max) {
      precondition(running > 0 && waiting >= 0 && waitingBytes >= 0)
      self.running = running
      self.later = later
      self.waiting = waiting
      self.waitingBytes = waitingBytes
    }
  }

  /// The owner of an element.
  public struct Party: Hashable, Sendable {
    /// The name of the party, which takes turns with others.
    @Exact public private(set) var name: String
    /// The member of the party; nil if it has none.
    @Exact public private(set) var member: String?

    public init(_ name: String, member: String? = nil) {
      self.name = name
      self.member = member
    }
  }

  /// The result for a new element.
  public enum Admission: Hashable, Sendable {
    /// The element runs, until `leave`.
    case starts
    /// The element waits for `admit` to start it. At the given time it can no longer end in time, and
    /// `expire` removes it.
    case waits(until: MonotonicTime)
    /// The element would start too late, or too many wait. After the given time there is likely to be room.
    case refused(retryAfter: Duration)
  }

  /// The way in which an element's run ended, for the estimate of durations.
  public enum Ending: Hashable, Sendable {
    /// The run is complete: this is how long one takes.
    case finished
    /// The run was given up: one takes at least that long.
    case cutShort
    /// The run ended before its work had begun, so its duration says nothing.
    case unused
  }

  /// The results for waiting elements.
  public struct Admitted: Hashable, Sendable {
    /// The elements that run now, until `leave`.
    public var starts: [ID] = []
    /// The elements that could no longer end in time and were removed.
    public var late: [ID] = []
    /// Whether both lists are empty.
    public var isEmpty: Bool { starts.isEmpty && late.isEmpty }
  }

  private struct Waiter {
    let party: Party?
    let bytes: Int
    let deadline: MonotonicTime
    let due: MonotonicTime
    /// Distinguishes the waiter from an earlier element with the same ID.
    let number: UInt64
  }

  /// The limits of the queue. Call `admit` after a change.
  public var limits: Limits
  private var started: [ID: MonotonicTime] = [:]
  private var waiters: [ID: Waiter] = [:]
  private var bytes = 0
  private var lines: [String: AdmissionLine<ID>] = [:]
  /// The names of `lines`. The one whose turn it is comes first.
  private var turns: [String] = []
  /// The number of waiting elements of each member.
  private var members: [Party: Int] = [:]
  private var serviceTime = ServiceTime()
  private var lastNumber: UInt64 = 0
  /// The number of entries in lines whose elements no longer wait.
  private var stale = 0
  /// A time before which no waiter is due; nil while nothing waits.
  private var earliestDue: MonotonicTime?

  /// Makes a queue in which nothing runs.
  public init(_ limits: Limits) { self.limits = limits }

  /// The number of running elements.
  public var running: Int { started.count }
  /// The number of waiting elements.
  public var waiting: Int { waiters.count }
  /// Whether a new element would start at once.
  public var startsAtOnce: Bool { hasFreePlace && waiters.isEmpty }
  /// Whether nothing runs and nothing waits.
  public var isEmpty: Bool { started.isEmpty && waiters.isEmpty }
  /// The earliest time at which `expire` may have something to remove; nil while nothing waits.
  public var nextExpiry: MonotonicTime? { waiters.isEmpty ? nil : earliestDue }
  /// Whether the queue is empty and its estimate is too old to use.
  public func isForgotten(at now: MonotonicTime) -> Bool { isEmpty && serviceTime.isForgotten(at: now) }

  // MARK: Coming and going

  /// The time to wait before another try, if an element would be refused now; nil if it would be admitted.
  public func refusal(
    _ party: Party? = nil, bytes: Int = 0, deadline: MonotonicTime, now: MonotonicTime
  ) -> Duration? {
    if startsAtOnce { return nil }
    let late = start(of: party, now: now) + serviceTime.prudent(at: now) - (deadline - now)
    guard late > .zero || isFull(party, bytes: bytes) else { return nil }
    return Self.bounded(late)
  }

  /// Admits an element, or refuses it.
  ///
  /// - Parameters:
  ///   - party: The owner of the element; nil if all share one.
  ///   - bytes: The memory that the element uses while it waits.
  ///   - deadline: The time by which the element must have ended.
  public mutating func enter(
    _ id: ID, party: Party? = nil, bytes: Int = 0, deadline: MonotonicTime, now: MonotonicTime
  ) -> Admission {
    if let wait = refusal(party, bytes: bytes, deadline: deadline, now: now) {
      return .refused(retryAfter: wait)
    }
    if startsAtOnce {
      start(id, now: now)
      return .starts
    }
    let due = deadline + (.zero - max(serviceTime.estimate(at: now), Self.least(deadline - now)))
    append(id, party, bytes: bytes, deadline: deadline, due: due)
    return .waits(until: due)
  }

  /// Frees the slot of an element that ran. Call `admit` then.
  public mutating func leave(_ id: ID, _ ending: Ending, now: MonotonicTime) {
    guard let start = started.removeValue(forKey: id) else { return }
    serviceTime.end(startedAt: start, at: now, ending)
  }

  /// Starts waiting elements in turn, while slots are free.
  public mutating func admit(now: MonotonicTime) -> Admitted {
    var admitted = Admitted()
    while hasFreePlace, let (id, waiter) = takeNext() {
      if waiter.due <= now || waiter.deadline - now < serviceTime.estimate(at: now) {
        admitted.late.append(id)
      } else {
        start(id, now: now)
        admitted.starts.append(id)
      }
    }
    return admitted
  }

  /// Removes a waiting element. Returns false if it does not wait.
  public mutating func abandon(_ id: ID) -> Bool {
    guard let waiter = waiters.removeValue(forKey: id) else { return false }
    forget(waiter)
    stale += 1
    sweepLines()
    return true
  }

  /// Removes everything that can no longer end in time.
  public mutating func expire(now: MonotonicTime) -> [ID] {
    guard let earliestDue, earliestDue <= now else { return [] }
    let late = waiters.filter { $0.value.due <= now }.sorted { $0.value.number < $1.value.number }
    for (id, _) in late { _ = abandon(id) }
    self.earliestDue = waiters.values.lazy.map(\.due).min()
    return late.map(\.key)
  }

  /// Removes everything that waits.
  public mutating func removeAllWaiting() -> [ID] {
    defer {
      (waiters, lines, turns, members) = ([:], [:], [], [:])
      (bytes, stale, earliestDue) = (0, 0, nil)
    }
    return waiters.sorted { $0.value.number < $1.value.number }.map(\.key)
  }

  /// The time after which a retry of a late element is likely to find room.
  public func retryAfterLate(now: MonotonicTime) -> Duration {
    Self.bounded(start(of: nil, now: now) + serviceTime.prudent(at: now))
  }

  // MARK: Judging

  private var hasFreePlace: Bool { started.count < limits.running }

  private static func bounded(_ wait: Duration) -> Duration { min(max(wait, .seconds(1)), .seconds(60)) }

  /// The least time to the deadline that a start needs: a tenth of the time left now, a second at most.
  private static func least(_ left: Duration) -> Duration { min(max(left, .zero) / 10, .seconds(1)) }

  /// The estimated time until a new element of a party would start.
  private func start(of party: Party?, now: MonotonicTime) -> Duration {
    let estimate = serviceTime.estimate(at: now)
    // Those that run now come first, then the others in rounds.
    return limits.later > limits.running
      ? estimate + estimate * ahead(of: party) / limits.later
      : estimate * (ahead(of: party) + 1) / limits.running
  }

  /// The number of elements that would start before a new one. For a member, it is at least twice the number
  /// of its own waiting elements, so that a member leaves half of the time to others.
  private func ahead(of party: Party?) -> Int {
    guard let party else { return waiters.count }
    let own = lines[party.name]?.count ?? 0
    // In each of these rounds, and in the new element's, every other party starts one.
    var others = 0
    for (name, line) in lines where name != party.name { others += min(line.count, own + 1) }
    return max(own + others, party.member == nil ? 0 : 2 * members[party, default: 0])
  }

  private func isFull(_ party: Party?, bytes: Int) -> Bool {
    guard waiters.count < limits.waiting, self.bytes + bytes <= limits.waitingBytes else { return true }
    guard let party else { return false }
    let (count, held) = lines[party.name].map { ($0.count, $0.bytes) } ?? (0, 0)
    return count >= limits.waiting / 2 || held + bytes > limits.waitingBytes / 2
      || (party.member != nil && members[party, default: 0] >= limits.waiting / 4)
  }

  // MARK: Lines

  private mutating func start(_ id: ID, now: MonotonicTime) {
    started[id] = now
    serviceTime.begin(at: now)
  }

  private mutating func append(
    _ id: ID, _ party: Party?, bytes: Int, deadline: MonotonicTime, due: MonotonicTime
  ) {
    lastNumber += 1
    waiters[id] = Waiter(party: party, bytes: bytes, deadline: deadline, due: due, number: lastNumber)
    self.bytes += bytes
    earliestDue = min(earliestDue ?? due, due)
    let name = party?.name ?? ""
    if lines[name] == nil { turns.append(name) }
    lines[name, default: AdmissionLine()].append(id, number: lastNumber, bytes: bytes)
    if let party, party.member != nil { members[party, default: 0] += 1 }
  }

  private mutating func takeNext() -> (ID, Waiter)? {
    while !turns.isEmpty {
      let name = turns.removeFirst()
      while let (id, number) = lines[name]?.takeFirst() {
        guard let waiter = waiters[id], waiter.number == number else {
          stale -= 1
          continue
        }
        waiters[id] = nil
        forget(waiter)
        if lines[name]?.count == 0 { drop(name) } else { turns.append(name) }
        return (id, waiter)
      }
      drop(name)
    }
    return nil
  }

  /// Drops a line in which nothing waits.
  private mutating func drop(_ name: String) {
    if let line = lines.removeValue(forKey: name) { stale -= line.entries.count - line.first }
  }

  /// Updates the counts for an element that no longer waits.
  private mutating func forget(_ waiter: Waiter) {
    bytes -= waiter.bytes
    if waiters.isEmpty { earliestDue = nil }
    let name = waiter.party?.name ?? ""
    lines[name]?.count -= 1
    lines[name]?.bytes -= waiter.bytes
    guard let party = waiter.party, party.member != nil, let count = members[party] else { return }
    members[party] = count == 1 ? nil : count - 1
  }

  /// Drops the entries of lines that no longer wait, once they outnumber those that do.
  private mutating func sweepLines() {
    guard stale > waiters.count else { return }
    stale = 0
    for name in turns {
      lines[name]?.keep { waiters[$0]?.number == $1 }
      if lines[name]?.count == 0 { lines[name] = nil }
    }
    turns.removeAll { lines[$0] == nil }
  }
}

/// The waiting elements of one party, in the order in which they came. An element that was removed from the
/// middle remains as an entry, which is skipped later.
private struct AdmissionLine<ID: Hashable & Sendable>: Sendable {
  var entries: [(id: ID, number: UInt64)] = []
  /// The index of the first entry that has not been taken out.
  var first = 0
  /// The number of entries whose elements still wait.
  var count = 0
  var bytes = 0

  mutating func append(_ id: ID, number: UInt64, bytes: Int) {
    entries.append((id, number))
    count += 1
    self.bytes += bytes
  }

  mutating func takeFirst() -> (id: ID, number: UInt64)? {
    guard first < entries.count else { return nil }
    defer {
      first += 1
      // Moves the rest once it is not longer than the part that was taken out: constant time on average.
      if first * 2 >= entries.count {
        entries.removeFirst(first)
        first = 0
      }
    }
    return entries[first]
  }

  mutating func keep(_ condition: (ID, UInt64) -> Bool) {
    entries = entries[first...].filter { condition($0.id, $0.number) }
    first = 0
  }
}
