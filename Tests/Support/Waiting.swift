// Helpers that let other tasks and threads run until a condition holds.

public import Platform

/// The event that a test waited for did not happen in time.
public struct NeverHappened: Error {
  public init() {}
}

/// Returns as soon as a condition is true.
///
/// - Parameter limit: ends only a wait that would never end, since no machine is that slow. The condition is
///   checked once more after it.
/// - Throws: `NeverHappened` after the limit, and at once any error that the condition throws.
public func eventually(
  within limit: Duration = .seconds(60), clock: any TimeSource = SystemClock(),
  _ condition: () async throws -> Bool
) async throws {
  let start = clock.now
  while true {
    let elapsed = clock.now - start
    if try await condition() { return }
    guard elapsed <= limit else { throw NeverHappened() }
    // Most conditions become true after a few turns of other tasks. After that, leave the processor to them.
    if elapsed < .milliseconds(5) {
      await Task.yield()
    } else {
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}

/// Repeats a call until it succeeds.
///
/// - Parameter limit: As for `eventually`.
/// - Throws: The error of the last try.
public func retry(
  within limit: Duration = .seconds(60), clock: any TimeSource = SystemClock(),
  _ body: () async throws -> Void
) async throws {
  let start = clock.now
  while true {
    let elapsed = clock.now - start
    do { return try await body() } catch { if elapsed > limit { throw error } }
    try await Task.sleep(for: .milliseconds(20))
  }
}

/// Lets other tasks run long enough for anything that could happen to have happened.
public func settle() async {
  for _ in 0..<200 { await Task.yield() }
}
