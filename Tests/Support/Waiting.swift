// Helpers that let other tasks and threads run until a condition holds.

public import Platform

/// A test waited for something that did not happen.
public struct NeverHappened: Error {
  public init() {}
}

/// Returns as soon as something holds.
///
/// - Parameter limit: Ends only a wait that would never end: no machine is so busy. The last check begins after it.
/// - Throws: `NeverHappened` after the limit, and whatever the condition throws at once.
public func eventually(
  within limit: Duration = .seconds(60), clock: any TimeSource = SystemClock(),
  _ condition: () async throws -> Bool
) async throws {
  let start = clock.now
  while true {
    let elapsed = clock.now - start
    if try await condition() { return }
    guard elapsed <= limit else { throw NeverHappened() }
    // Most conditions hold after a few turns of other tasks. After that, leave the processor to them.
    if elapsed < .milliseconds(5) {
      await Task.yield()
    } else {
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}

/// Repeats something until it does not throw.
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

/// Lets other tasks run for long enough that what could happen has happened.
public func settle() async {
  for _ in 0..<200 { await Task.yield() }
}
