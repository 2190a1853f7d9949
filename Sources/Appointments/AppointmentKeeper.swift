// Looks for appointments that are due, and has each of them handled at its time.

package import Delivery
package import Gate
package import Platform
package import Store
import Synchronization

/// Has due appointments handled: looks into the store each second, and waits for what is due soon. One for each process.
///
/// Instances do not divide appointments among themselves. Each handles what is due, and the one whose mark the store takes makes the
/// call. The scheduler's wall clock says what is due. After a jump of that clock the next look, at most a second later, goes by the
/// new time: what was due before may be late, and what was due soon may be far away.
package final class AppointmentKeeper: Sendable {
  /// What came of handling an appointment.
  package enum Handling: Hashable, Sendable {
    /// It is over, has another time, or is another instance's.
    case done
    /// This instance can do nothing about it for a while. Others may.
    case leftAside(for: Duration)
  }

  /// How far ahead of their time appointments are read. Longer than the time between two looks.
  private static let lookAhead = Duration.milliseconds(1500)
  private static let interval = Duration.seconds(1)
  /// Looks that are asked for come no closer to each other than this.
  private static let shortestInterval = Duration.milliseconds(20)
  /// The time to the next look after one failed, after two, and so on.
  private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5)]
  /// How many are handled at the same time, and how many a look reads beside those. Each keeps its content in memory.
  static let mostInHand = 2048
  static let mostAtOnce = 1024

  private struct State {
    var isStopped = false
    /// Whether the loop looks as soon as it may.
    var isWoken = false
    var nap: Task<Void, Never>?
    var inHand: Set<CallbackID> = []
    /// Those that were left aside, and until when.
    var aside: [CallbackID: MonotonicTime] = [:]
    /// Whether the last look has found more than could be taken.
    var hasMore = false

    mutating func wake() {
      isWoken = true
      nap?.cancel()
    }
  }

  private let store: any AppointmentStore
  private let clock: any TimeSource
  private let inHand: CallbacksInHand
  private let lateness: @Sendable () -> Duration?
  private let handle: @Sendable (DueAppointment) async -> Handling
  private let state = Mutex(State())
  private let latestCounts = Mutex<AppointmentCounts?>(nil)

  /// A keeper that does nothing before `run`.
  ///
  /// - Parameters:
  ///   - clock: The scheduler's. Its wall clock says what is due.
  ///   - inHand: Counts what an ending process waits for.
  ///   - lateness: How late calls may be made; nil where none are made, and appointments only expire.
  ///   - handle: Handles an appointment whose time has come, once at a time for each.
  package init(
    store: any AppointmentStore, clock: any TimeSource, inHand: CallbacksInHand,
    lateness: @escaping @Sendable () -> Duration?,
    handle: @escaping @Sendable (DueAppointment) async -> Handling
  ) {
    self.store = store
    self.clock = clock
    self.inHand = inHand
    self.lateness = lateness
    self.handle = handle
  }

  /// An appointment of this instance has a new time. One that is due soon is looked for at once.
  package func wake(at time: Instant) {
    guard time <= Instant(clock.unixTime).advanced(by: Self.lookAhead) else { return }
    state.withLock { $0.wake() }
  }

  /// Begins nothing any more, and ends `run`. What is being handled goes on.
  package func stop() {
    state.withLock { state in
      state.isStopped = true
      state.wake()
    }
  }

  // MARK: How many there are

  /// How many there were when they were last counted; nil before, and where no appointments are taken.
  package var counts: AppointmentCounts? { latestCounts.withLock { $0 } }

  /// Counts them every ten seconds until its task is cancelled.
  package func keepCounted() async {
    repeat {
      guard lateness() != nil else {
        latestCounts.withLock { $0 = nil }
        continue
      }
      // What fails is noted by the store, and tried again.
      do throws(StoreError) {
        let counts = try await store.appointmentCounts()
        latestCounts.withLock { $0 = counts }
      } catch {}
    } while await clock.hasSlept(until: clock.now + .seconds(10))
  }

  // MARK: The loop

  /// Looks and waits until `stop`.
  package func run() async {
    /// What was read and is not due yet, the earliest first. Each look replaces it.
    var upcoming: [DueAppointment] = []
    var lookAt = clock.now
    var lastLook: MonotonicTime?
    var failures = 0
    while !state.withLock({ $0.isStopped }) {
      if isWoken() { lookAt = min(lookAt, lastLook.map { $0 + Self.shortestInterval } ?? lookAt) }
      if clock.now >= lookAt {
        lastLook = clock.now
        do throws(StoreError) {
          upcoming = try await look()
          failures = 0
          lookAt = clock.now + Self.interval
        } catch {
          // The store's health shows and logs it.
          lookAt = clock.now + Self.pauses[min(failures, Self.pauses.count - 1)]
          failures += 1
        }
      }
      let now = Instant(clock.unixTime)
      let due = upcoming.prefix { $0.due <= now }
      for appointment in due { begin(appointment) }
      upcoming.removeFirst(due.count)
      await nap(until: upcoming.first.map { min(clock.now + ($0.due - now), lookAt) } ?? lookAt)
    }
  }

  private func isWoken() -> Bool {
    state.withLock { state in
      defer { state.isWoken = false }
      return state.isWoken
    }
  }

  /// Sleeps until a point, or until the loop is woken.
  private func nap(until point: MonotonicTime) async {
    let nap = Task { [clock] in _ = await clock.hasSlept(until: point) }
    let isAwake = state.withLock { state in
      state.nap = nap
      return state.isWoken || state.isStopped
    }
    if isAwake { nap.cancel() }
    await nap.value
    state.withLock { $0.nap = nil }
  }

  /// What is due soon and not in hand, the earliest first.
  private func look() async throws(StoreError) -> [DueAppointment] {
    let now = clock.now
    let before = state.withLock { state in
      state.aside = state.aside.filter { $0.value > now }
      return state.inHand.union(state.aside.keys)
    }
    let room = min(Self.mostAtOnce, Self.mostInHand - before.count)
    guard room > 0 else {
      state.withLock { $0.hasMore = true }
      return []
    }
    let wallNow = Instant(clock.unixTime)
    // Where no calls are made, only what is late matters.
    let time = wallNow.advanced(
      by: lateness() == nil ? .zero - AppointmentSetting.usualLateness : Self.lookAhead)
    let most = before.count + room
    let found = try await store.dueAppointments(at: time, most: most)
    return state.withLock { state in
      // What ended while the store was asked may have been read before its end.
      let known = before.union(state.inHand)
      let fresh = found.filter { !known.contains($0.record.id) }
      // Those in hand that are marked were not read, so there may be more than can be taken.
      state.hasMore = found.count == most || fresh.count > room
      return Array(fresh.prefix(room))
    }
  }

  // MARK: One appointment

  private func begin(_ due: DueAppointment) {
    let id = due.record.id
    let isTaken = state.withLock { state in
      guard !state.isStopped, state.inHand.insert(id).inserted else { return false }
      // An ending process waits for what has begun, and nothing begins after `stop`.
      inHand.enter()
      return true
    }
    guard isTaken else { return }
    Task {
      let handling = await handle(due)
      let now = clock.now
      state.withLock { state in
        state.inHand.remove(id)
        if case .leftAside(let span) = handling { state.aside[id] = now + span }
        // Not at the first that ends: each look reads what is in hand, too.
        if state.hasMore, state.inHand.count <= Self.mostAtOnce / 2 {
          state.hasMore = false
          state.wake()
        }
      }
      inHand.leave()
    }
  }
}
