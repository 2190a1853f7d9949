// Helpers that let other tasks run until a condition holds.

/// A test waited for something that did not come about.
public struct NeverHappened: Error {
  public init() {}
}

/// Lets other tasks run until something holds; how long that takes in seconds does not matter.
public func until(_ condition: @Sendable () async throws -> Bool) async throws {
  for _ in 0..<2_000_000 {
    if try await condition() { return }
    await Task.yield()
  }
  throw NeverHappened()
}

/// Lets other tasks run for long enough that what could happen has happened.
public func settle() async {
  for _ in 0..<200 { await Task.yield() }
}
