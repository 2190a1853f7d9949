// Lets requests wait until a callback's record changes: `GET /callbacks/{id}?wait`.

package import Platform
package import Store
import Synchronization
package import Texts

/// The requests of this instance that wait for a change of a record. A change by this instance wakes them at
/// once. For changes by others, the watch reads all watched records once a second.
package final class AppointmentWatch: Sendable {
  /// The maximum number of waiting requests. Further requests are answered at once.
  package static let most = 1000
  /// The maximum number of waiting requests per owner or address, so that one client cannot use up all of
  /// them.
  package static let mostOfOne = 8
  /// The time between two reads of the store while requests wait.
  static let interval = Duration.seconds(1)

  /// The owner or address that a waiting request counts against.
  package enum Party: Hashable, Sendable {
    /// An owner with a subject of its own: a user, or an installation.
    case owner(callerID: ExactText, subject: ExactText)
    /// The address of a caller that may serve many users. An IPv6 /64 counts as one address.
    case address(IPAddress)

    /// The party of any other caller at an address.
    package static func any(at address: IPAddress) -> Party { .address(address.client) }
  }

  private struct Waiter {
    let party: Party
    /// The record as the request knows it.
    let record: StoredCallback
    let continuation: CheckedContinuation<StoredCallback, Never>
  }

  private struct State {
    /// Waiting requests by record, then by the number of the request.
    var waiters: [CallbackID: [UInt64: Waiter]] = [:]
    var count = 0
    var parties: [Party: Int] = [:]
    var lastID: UInt64 = 0
    /// The task that reads the store. It ends when nothing waits.
    var look: Task<Void, Never>?
    var isEnded = false

    mutating func take(_ number: UInt64, of id: CallbackID) -> Waiter? {
      guard let waiter = waiters[id]?.removeValue(forKey: number) else { return nil }
      if waiters[id]?.isEmpty == true { waiters[id] = nil }
      count -= 1
      let left = parties[waiter.party, default: 1] - 1
      parties[waiter.party] = left > 0 ? left : nil
      return waiter
    }
  }

  private let read: @Sendable (Set<CallbackID>) async throws(StoreError) -> [StoredCallback]
  private let time: any TimeSource
  private let state = Mutex(State())

  /// Creates a watch over the records of a store.
  package convenience init(store: any AppointmentStore, time: any TimeSource) {
    self.init(time: time) { (ids) throws(StoreError) in try await store.callbacks(ids) }
  }

  /// Creates a watch over the records that `read` finds.
  init(
    time: any TimeSource,
    read: @escaping @Sendable (Set<CallbackID>) async throws(StoreError) -> [StoredCallback]
  ) {
    self.time = time
    self.read = read
  }

  /// The number of requests that wait.
  package var count: Int { state.withLock { $0.count } }

  /// Waits until a record differs from the given one. A move is a change.
  ///
  /// Returns the record unchanged at the deadline, on cancellation or drain, or immediately if the record is
  /// final or a limit is reached.
  ///
  /// - Parameter awaitsOutcome: Whether to wait for one more change after the callback was requested: the
  ///   outcome of its call.
  /// - Returns: The record at that time.
  package func wait(
    for record: StoredCallback, of party: Party, until deadline: MonotonicTime, awaitsOutcome: Bool = false
  ) async -> StoredCallback {
    guard !record.status.isFinal || awaitsOutcome && record.awaitsOutcome, time.now < deadline else {
      return record
    }
    let number = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    let timer = Task { [time] in
      // A canceled timer does nothing: its request already has a result.
      if await time.hasSlept(until: deadline) { leave(number, record.id) }
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = state.withLock { state in
          // A cancellation or a deadline before this point found no one to wake.
          guard !Task.isCancelled, time.now < deadline, !state.isEnded, state.count < Self.most,
            state.parties[party, default: 0] < Self.mostOfOne
          else { return false }
          state.count += 1
          state.parties[party, default: 0] += 1
          state.waiters[record.id, default: [:]][number] = Waiter(
            party: party, record: record, continuation: continuation)
          if state.look == nil { state.look = Task { await self.look() } }
          return true
        }
        if !waits { continuation.resume(returning: record) }
      }
    } onCancel: {
      leave(number, record.id)
    }
  }

  /// Wakes the requests that wait for a record, if it differs from the record that they know.
  package func changed(_ record: StoredCallback) {
    let answered = state.withLock { state in
      let numbers = (state.waiters[record.id] ?? [:]).filter { record.hasChanged(since: $0.value.record) }
        .keys
      return numbers.compactMap { state.take($0, of: record.id) }
    }
    for waiter in answered { waiter.continuation.resume(returning: record) }
  }

  /// Reads a record that may have changed here, if requests wait for it.
  package func lookAgain(at id: CallbackID) async {
    guard state.withLock({ $0.waiters[id] != nil }) else { return }
    do throws(StoreError) {
      for record in try await read([id]) { changed(record) }
    } catch {
      // The next read answers the waiting requests.
    }
  }

  /// Answers all waiting requests, and every later one at once, because the server drains.
  package func end() {
    let (all, look) = state.withLock { state in
      defer {
        state.waiters = [:]
        state.count = 0
        state.parties = [:]
        state.isEnded = true
      }
      return (state.waiters.values.flatMap(\.values), state.look)
    }
    look?.cancel()
    for waiter in all { waiter.continuation.resume(returning: waiter.record) }
  }

  private func leave(_ number: UInt64, _ id: CallbackID) {
    guard let waiter = state.withLock({ $0.take(number, of: id) }) else { return }
    waiter.continuation.resume(returning: waiter.record)
  }

  /// Reads the watched records each second, as long as there are some.
  private func look() async {
    while await time.hasSlept(until: time.now + Self.interval) {
      let ids = state.withLock { state in
        if state.waiters.isEmpty { state.look = nil }
        return Set(state.waiters.keys)
      }
      guard !ids.isEmpty else { return }
      do throws(StoreError) {
        for record in try await read(ids) { changed(record) }
      } catch {
        // The next read, or the deadline, answers them.
      }
    }
  }
}

extension StoredCallback {
  /// Whether a client sees a difference between two records.
  fileprivate func hasChanged(since before: StoredCallback) -> Bool {
    status != before.status || at != before.at || outcome != before.outcome
  }
}
