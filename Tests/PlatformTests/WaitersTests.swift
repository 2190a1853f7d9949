// Tests of tasks that wait for one event.

import Platform
import Synchronization
import TestSupport
import Testing

/// A flag that tasks share.
private final class Flag: Sendable {
  private let value = Mutex(false)
  var isSet: Bool { value.withLock { $0 } }
  func set() { value.withLock { $0 = true } }
}

@Test func `the event wakes all waiting tasks, and cancelling wakes only one`() async throws {
  let waiters = Waiters()
  let hasEnded = Flag()
  let first = Task { await waiters.wait { hasEnded.isSet } }
  let second = Task { await waiters.wait { hasEnded.isSet } }
  try await eventually { waiters.count >= 2 }
  first.cancel()
  await first.value
  #expect(waiters.count == 1)
  hasEnded.set()
  waiters.wakeAll()
  await second.value
  #expect(waiters.count == 0)
}

@Test func `no task waits for a past event, or once it is cancelled`() async {
  let waiters = Waiters()
  await waiters.wait { true }
  let isCancelled = Flag()
  let task = Task {
    while !isCancelled.isSet { await Task.yield() }
    await waiters.wait { false }
  }
  task.cancel()
  isCancelled.set()
  await task.value
  #expect(waiters.count == 0)
}
