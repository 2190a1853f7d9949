// Caches DNS answers and decides when to look a name up again.

import Platform

/// The addresses of host names, and the lookups that are due. The cache has no clock and does no I/O: it
/// receives times and results, and returns decisions.
///
/// A name is looked up once for all callers that need it. A result is used without a new lookup until it is
/// `fresh` old, and until `renewable` while a new lookup runs. After that, callers wait, but only for
/// `patience` if there is an old result. If the resolver hangs or fails temporarily, the old result is used
/// until it is `kept` old. A wrong address does no harm, because TLS proves the server's name.
struct NameCache {
  /// A name's addresses in the order to try them, or why there are none.
  typealias Result = Swift.Result<[IPAddress], LookupFailure>

  /// The limits of the cache.
  struct Policy {
    var fresh: Duration = .seconds(30)
    var renewable: Duration = .seconds(120)
    var kept: Duration = .seconds(3600)
    /// The time for which a failure is remembered.
    var failure: Duration = .seconds(1)
    /// The time that callers wait for the resolver if an old result is available.
    var patience: Duration = .seconds(1)
    /// The time after which a running lookup counts as stuck, and the next caller starts another one.
    var stuck: Duration = .seconds(5)
    /// The maximum number of lookups at once, each on a thread of its own.
    var lookups = 16
    /// The maximum number of names that are remembered.
    var names = 1024
  }

  /// The result for a caller.
  enum Answer: Equatable {
    case addresses([IPAddress])
    case failed(LookupFailure)
    case wait
  }

  private struct Entry {
    var addresses: [IPAddress] = []
    var found: MonotonicTime?
    var failure: (failure: LookupFailure, at: MonotonicTime)?
    var lookups = 0
    var lastStart: MonotonicTime?
    var isDue = false
  }

  let policy: Policy
  private var entries: [String: Entry] = [:]
  private var due: [String] = []
  private var running = 0

  init(policy: Policy = Policy()) { self.policy = policy }

  /// Looks up a name's addresses in the cache. `wait` means that `finish` will be called for this name.
  mutating func ask(_ name: String, now: MonotonicTime) -> Answer {
    prune(now: now)
    var entry = entries[name] ?? Entry()
    defer { entries[name] = entry }
    let failure = entry.failure.flatMap { now.age(since: $0.at) < policy.failure ? $0.failure : nil }
    if let found = entry.found, now.age(since: found) < policy.renewable {
      if now.age(since: found) >= policy.fresh, failure == nil { want(name, &entry, now: now) }
      return .addresses(entry.addresses)
    }
    if let failure {
      if let found = entry.found, now.age(since: found) < policy.kept { return .addresses(entry.addresses) }
      return .failed(failure)
    }
    want(name, &entry, now: now)
    return .wait
  }

  /// The number of names that are remembered.
  var count: Int { entries.count }

  /// The old addresses for callers that have waited for `patience`; nil if there are none, or if they are too
  /// old.
  func old(_ name: String, now: MonotonicTime) -> [IPAddress]? {
    guard let entry = entries[name], let found = entry.found, now.age(since: found) < policy.kept else {
      return nil
    }
    return entry.addresses
  }

  /// The lookups to start now; each ends in one `finish`.
  mutating func takeLookups(now: MonotonicTime) -> [String] {
    let count = min(due.count, policy.lookups - running)
    guard count > 0 else { return [] }
    let names = Array(due.prefix(count))
    due.removeFirst(count)
    running += count
    for name in names {
      entries[name]?.isDue = false
      entries[name]?.lookups += 1
      entries[name]?.lastStart = now
    }
    return names
  }

  /// Stores a lookup's result. The waiting callers may ask again after that.
  mutating func finish(_ name: String, _ result: Result, now: MonotonicTime) {
    running -= 1
    var entry = entries[name] ?? Entry()
    defer { entries[name] = entry }
    entry.lookups -= 1
    switch result {
    case .success(let addresses):
      entry.addresses = addresses
      entry.found = now
      entry.failure = nil
    case .failure(let failure):
      entry.failure = (failure, at: now)
      // The name no longer exists, so its old addresses do not count either.
      if !failure.isTemporary { entry.found = nil }
    }
  }

  private mutating func want(_ name: String, _ entry: inout Entry, now: MonotonicTime) {
    guard !entry.isDue else { return }
    if entry.lookups > 0, let last = entry.lastStart, now - last < policy.stuck { return }
    entry.isDue = true
    due.append(name)
  }

  /// Drops all names that have no lookup due or running, once the maximum number is reached. Names come from
  /// the configuration, so there should never be that many.
  private mutating func prune(now: MonotonicTime) {
    guard entries.count >= policy.names else { return }
    entries = entries.filter { $0.value.lookups > 0 || $0.value.isDue }
  }
}

/// The reason why a name has no address.
struct LookupFailure: Error, Equatable {
  /// Whether the resolver failed, as opposed to reporting that the name or its address does not exist.
  let isTemporary: Bool
  /// The resolver's error message.
  let detail: String
}
