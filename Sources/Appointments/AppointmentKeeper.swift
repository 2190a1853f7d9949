// Finds due appointments, and starts the handling of each at its time.

package import Delivery
package import Gate
package import Platform
package import Store
import Synchronization

/// Starts the handling of due appointments. It reads the store each second, and waits for those that are due soon. A process has one.
///
/// Instances do not divide appointments among themselves. Each handles all due appointments, and the one whose mark the store accepts
/// makes the call. The scheduler's wall clock decides which are due. After a jump of that clock, the next look uses the new time, at
/// most a second later. A due appointment may then be late, and one that was due soon may be far away.
package final class AppointmentKeeper: Sendable {
  /// The result of handling an appointment.
  package enum Handling: Hashable, Sendable {
    /// It is over, has another time, or is another instance's.
    case done
    /// This instance can do nothing about it for a while. Others may.
    case leftAside(for: Duration)
  }

  /// The most appointments that are handled at once, and the most that a look reads besides. Each has its content in memory.
  static let mostInHand = 2048
  static let mostAtOnce = 1024
  private static let mostRead = 8192

  private struct State {
    var inHand: Set<CallbackID> = []
    /// The appointments that this instance leaves aside, each until a time.
    var aside: [CallbackID: MonotonicTime] = [:]
    /// Whether the last look found more than it could take.
    var hasMore = false
  }

  private let store: any AppointmentStore
  private let clock: any TimeSource
  private let inHand: CallbacksInHand
  private let isClockRight: @Sendable () -> Bool
  private let lateness: @Sendable () -> Duration?
  private let handle: @Sendable (DueAppointment) async -> Handling
  private let loop: DueLoop
  private let state = Mutex(State())
  private let latestCounts = Mutex<AppointmentCounts?>(nil)

  /// A keeper that does nothing before `run`.
  ///
  /// - Parameters:
  ///   - clock: The scheduler's clock. Its wall clock decides which appointments are due.
  ///   - inHand: Counts the work that an ending process waits for.
  ///   - isClockRight: Whether this process may judge times (`StoreHealth.isClockRight`). If not, it leaves all appointments to others.
  ///   - lateness: How late calls may be made; nil if none are made, and appointments only expire.
  ///   - handle: Handles an appointment whose time has come, once at a time for each.
  package init(
    store: any AppointmentStore, clock: any TimeSource, inHand: CallbacksInHand,
    isClockRight: @escaping @Sendable () -> Bool, lateness: @escaping @Sendable () -> Duration?,
    handle: @escaping @Sendable (DueAppointment) async -> Handling
  ) {
    self.store = store
    self.clock = clock
    self.inHand = inHand
    self.isClockRight = isClockRight
    self.lateness = lateness
    self.handle = handle
    loop = DueLoop(clock: clock)
  }

  /// An appointment has a new time by a request to this instance. If it is due soon, the keeper looks at once.
  package func wake(at time: Instant) {
    guard time <= Instant(clock.unixTime).advanced(by: DueLoop.lookAhead) else { return }
    loop.wake()
  }

  /// Begins nothing more, and ends `run`. The handling of appointments that have begun goes on.
  package func stop() { loop.stop() }

  // MARK: Counting

  /// The last counts; nil before the first, and in a server without appointments.
  package var counts: AppointmentCounts? { latestCounts.withLock { $0 } }

  /// An appointment that waits longer after its time is overdue.
  private static let usualDelay = Duration.seconds(5)

  /// Counts them every ten seconds, and less often the more there are, until its task is cancelled.
  package func keepCounted() async {
    var pause: Duration
    repeat {
      pause = RowCounts.pause(after: counts?.scheduled ?? 0)
      guard lateness() != nil else {
        latestCounts.withLock { $0 = nil }
        continue
      }
      // The store's health shows a failure. The next turn tries again.
      do throws(StoreError) {
        let now = Instant(clock.unixTime)
        let counts = try await store.appointmentCounts(dueBefore: now.advanced(by: .zero - Self.usualDelay))
        latestCounts.withLock { $0 = counts }
        pause = RowCounts.pause(after: counts.scheduled)
      } catch {}
    } while await clock.hasSlept(until: clock.now + pause)
  }

  // MARK: The loop

  /// Reads and waits until `stop`.
  package func run() async {
    await loop.run(
      read: {
        // The store's health shows and logs a failure.
        do throws(StoreError) { return try await look() } catch { return nil }
      }, mayBegin: isClockRight, wait: { $0.due - Instant(clock.unixTime) }, begin: begin)
  }

  /// The appointments that are due soon and not in hand, the earliest first; none where this process may not judge times.
  private func look() async throws(StoreError) -> [DueAppointment] {
    guard isClockRight() else { return [] }
    let now = clock.now
    let (before, inHand) = state.withLock { state in
      state.aside = state.aside.filter { $0.value > now }
      return (state.inHand.union(state.aside.keys), state.inHand.count)
    }
    let room = min(Self.mostAtOnce, Self.mostInHand - inHand)
    guard room > 0 else {
      state.withLock { $0.hasMore = true }
      return []
    }
    let wallNow = Instant(clock.unixTime)
    // Without calls, only late appointments matter.
    let time = wallNow.advanced(
      by: lateness() == nil ? .zero - AppointmentSetting.usualLateness : DueLoop.lookAhead)
    // Beyond those that were left aside are others, which this instance may be able to carry out.
    let most = min(before.count + room, Self.mostRead)
    let found = try await store.dueAppointments(at: time, most: most)
    return state.withLock { state in
      // An appointment that ended during the read may have been read before its end.
      let known = before.union(state.inHand)
      let fresh = found.filter { !known.contains($0.record.id) }
      // Marked appointments in hand were not read, so the look may have found more than it can take.
      state.hasMore = found.count == most || fresh.count > room
      return Array(fresh.prefix(room))
    }
  }

  // MARK: One appointment

  private func begin(_ due: DueAppointment) {
    let id = due.record.id
    let isTaken = loop.unlessStopped {
      guard state.withLock({ $0.inHand.insert(id).inserted }) else { return false }
      // An ending process waits for handling that has begun. Nothing begins after `stop`.
      inHand.enter()
      return true
    }
    guard isTaken else { return }
    Task {
      let handling = await handle(due)
      let now = clock.now
      let wakes = state.withLock { state in
        state.inHand.remove(id)
        if case .leftAside(let span) = handling { state.aside[id] = now + span }
        // Not at the first end: each read also finds the appointments in hand.
        guard state.hasMore, state.inHand.count <= Self.mostAtOnce / 2 else { return false }
        state.hasMore = false
        return true
      }
      if wakes { loop.wake() }
      inHand.leave()
    }
  }
}
