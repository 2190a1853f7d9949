// A store in memory that plays a shared, slow or failing store, for tests of the code in front of it.

package import Gate
package import Store
import Synchronization
import TestSupport

/// Counts updates and reads, and fails or waits when a test says so.
package final class ScriptedStore: StoreDecorator {
  struct Script {
    var isDown = false
    var updates = 0
    var reads = 0
    /// Whether a purge waits until this is false.
    var holdsPurge = false
    var isPurging = false
    /// Whether stops wait before they are saved, and whether one is waiting.
    var holdsStop = false
    var isStopping = false
    /// Whether resumes wait before they are saved, and whether one is waiting.
    var holdsResume = false
    var isResuming = false
    /// Whether stops are read-only.
    var isReadOnly = false
    /// The target whose stops the store rejects.
    var rejected: Stop.Target?
    /// Whether resumes are saved but their response is lost.
    var isInDoubt = false
    /// Whether the next update's response is held back, and whether one is held.
    var holdsNext = false
    var isHolding = false
    /// Random delays of updates and of their responses, in turns of other tasks.
    var lag: SeededGenerator?
  }

  package let base: any Store
  package let sharing: StoreSharing
  package let health = StoreHealth()
  private let script = Mutex(Script())

  /// A store on top of another, by default an empty one in memory.
  package init(_ base: any Store = memoryStore(), sharing: StoreSharing) {
    self.base = base
    self.sharing = sharing
  }

  /// Numbers of allowance updates and reads so far.
  package var updates: Int { script.withLock { $0.updates } }
  package var reads: Int { script.withLock { $0.reads } }
  package func setDown(_ isDown: Bool) { script.withLock { $0.isDown = isDown } }

  package var isPurging: Bool { script.withLock { $0.isPurging } }
  package func setPurging(_ isHeld: Bool) { script.withLock { $0.holdsPurge = isHeld } }

  /// Holds back the response to the next update until `release`. The update itself happens.
  package func holdNext(_ holds: Bool = true) { script.withLock { $0.holdsNext = holds } }
  package var isHolding: Bool { script.withLock { $0.isHolding } }
  package func release() { script.withLock { $0.isHolding = false } }

  /// Delays updates and their responses by random times.
  package func lag(seed: UInt64) { script.withLock { $0.lag = SeededGenerator(seed) } }

  private func takeTime() async {
    let turns = script.withLock { script in
      guard var lag = script.lag else { return 0 }
      defer { script.lag = lag }
      return Bool.random(using: &lag) ? 0 : Int.random(in: 0..<64, using: &lag)
    }
    for _ in 0..<turns { await Task.yield() }
  }

  package func check() throws(StoreError) { try check { _ in } }

  private func check(_ count: (inout Script) -> Void) throws(StoreError) {
    let isDown = script.withLock { script in
      count(&script)
      return script.isDown
    }
    if isDown { throw StoreError(.unavailable, "test", "down") }
  }

  package func update<Result: Sendable>(
    _ keys: [AllowanceKey], at now: Instant,
    _ body: @escaping @Sendable ([AllowanceState?], Instant) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result {
    try check { $0.updates += 1 }
    await takeTime()
    let result = try await base.update(keys, at: now, body)
    await takeTime()
    let isHeld = script.withLock { script in
      defer { script.holdsNext = false }
      if script.holdsNext { script.isHolding = true }
      return script.holdsNext
    }
    while isHeld, isHolding, !Task.isCancelled { await Task.yield() }
    return result
  }

  package func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?] {
    try check { $0.reads += 1 }
    return try await base.states(of: keys)
  }

  /// Makes stops wait until this is called with false.
  package func holdStop(_ holds: Bool) { script.withLock { $0.holdsStop = holds } }
  package var isStopping: Bool { script.withLock { $0.isStopping } }

  package func setReadOnly(_ isReadOnly: Bool) { script.withLock { $0.isReadOnly = isReadOnly } }

  package func reject(_ target: Stop.Target) { script.withLock { $0.rejected = target } }

  /// Saves resumes and loses the response, as a broken connection does.
  package func setInDoubt(_ isInDoubt: Bool) { script.withLock { $0.isInDoubt = isInDoubt } }

  private func checkWritable() throws(StoreError) {
    try check()
    if script.withLock({ $0.isReadOnly }) { throw StoreError(.readOnly, "test", "read only") }
  }

  package func stop(_ stop: Stop) async throws(StoreError) {
    try checkWritable()
    if script.withLock({ $0.rejected == stop.target }) { throw StoreError(.rejected, "test", "rejected") }
    script.withLock { $0.isStopping = $0.holdsStop }
    while script.withLock({ $0.holdsStop }), !Task.isCancelled { await Task.yield() }
    script.withLock { $0.isStopping = false }
    try await base.stop(stop)
  }

  /// Makes resumes wait until this is called with false.
  package func holdResume(_ holds: Bool) { script.withLock { $0.holdsResume = holds } }
  package var isResuming: Bool { script.withLock { $0.isResuming } }

  package func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) {
    try checkWritable()
    script.withLock { $0.isResuming = $0.holdsResume }
    while script.withLock({ $0.holdsResume }), !Task.isCancelled { await Task.yield() }
    script.withLock { $0.isResuming = false }
    try await base.resume(target, action)
    if script.withLock({ $0.isInDoubt }) {
      throw StoreError(.unavailable, "receive", "lost", isInDoubt: true)
    }
  }

  package func purge(at now: Instant) async throws(StoreError) -> Int {
    script.withLock { $0.isPurging = true }
    defer { script.withLock { $0.isPurging = false } }
    while script.withLock({ $0.holdsPurge }), !Task.isCancelled { await Task.yield() }
    return try await base.purge(at: now)
  }
}
