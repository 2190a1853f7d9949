// Finds due appointments, and starts the handling of each at its time.

package import Delivery
package import Gate
package import Platform
package import Store
import Synchronization

/// Starts the handling of due appointments. The keeper reads the store each second, less often while the
/// store fails, and waits for appointments that are due soon. A process has one keeper.
///
/// Instances do not divide appointments among themselves. Each instance handles all due appointments, and the
/// instance whose mark the store accepts makes the call. The scheduler's wall clock decides which
/// appointments are due. If that clock jumps, the next read uses the new time. An appointment may then
/// already be late, or no longer be due soon.
package final class AppointmentKeeper: Sendable {
  /// The result of handling an appointment.
  package enum Handling: Hashable, Sendable {
    /// Nothing is left to do now: the appointment was called, ended, moved or postponed, is not due yet, or
    /// belongs to another instance, or appointments are off.
    case done
    /// This instance cannot handle the appointment for a while. Others may.
    case leftAside(for: Duration)
  }

  /// The maximum numbers of appointments handled at once, of new appointments for each read, and of rows for
  /// each read. They limit memory, which has the content of every appointment being handled.
  static let mostInHand = 2048
  static let mostAtOnce = 1024
  private static let mostRead = 8192

  private struct State {
    var inHand: Set<CallbackID> = []
    /// Appointments that this instance skips, each until a time.
    var aside: [CallbackID: MonotonicTime] = [:]
    /// Whether the last read found more appointments than this instance could start, or may have left some in
    /// the store.
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

  /// Creates a keeper that does nothing before `run`.
  ///
  /// - Parameters:
  ///   - clock: The scheduler's clock. Its wall clock decides which appointments are due.
  ///   - inHand: Counts the work that the process finishes before it exits.
  ///   - isClockRight: Whether this process may decide by its clock (`StoreHealth.isClockRight`). If not, it
  ///     leaves all appointments to others.
  ///   - lateness: How late calls may be made; nil if none are made, and appointments only expire.
  ///   - handle: Handles an appointment whose time has come. Never runs twice at once for the same
  ///     appointment.
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

  /// Tells the keeper that a request to this instance gave an appointment a new time. If that is soon, the
  /// keeper reads the store at once.
  package func wake(at time: Instant) {
    guard time <= Instant(clock.unixTime).advanced(by: DueLoop.lookAhead) else { return }
    loop.wake()
  }

  /// Stops starting appointments, and ends `run`. Handling that has started continues.
  package func stop() { loop.stop() }

  // MARK: Counting

  /// The last counts; nil before the first, and in a server without appointments.
  package var counts: AppointmentCounts? { latestCounts.withLock { $0 } }

  /// An appointment that waits longer than this after its time is overdue.
  private static let usualDelay = Duration.seconds(5)

  /// Counts appointments every ten seconds, less often if there are very many, until the task is canceled.
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

  /// Appointments that are due soon and neither being handled nor left aside, earliest first. If no calls are
  /// made, only those that are too late. None if this process may not decide by its clock, or handles as many
  /// as it may.
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
    // Read past the skipped appointments, to reach others that this instance may be able to handle.
    let most = min(before.count + room, Self.mostRead)
    let found = try await store.dueAppointments(at: time, most: most)
    return state.withLock { state in
      // An appointment that ended during the read may have been read before its end.
      let known = before.union(state.inHand)
      let fresh = found.filter { !known.contains($0.record.id) }
      // The store does not return marked appointments, so there may be more new ones than room for them.
      state.hasMore = found.count == most || fresh.count > room
      return Array(fresh.prefix(room))
    }
  }

  // MARK: One appointment

  private func begin(_ due: DueAppointment) {
    let id = due.record.id
    let isTaken = loop.unlessStopped {
      guard state.withLock({ $0.inHand.insert(id).inserted }) else { return false }
      // Before it exits, the process waits for handling that has started. Nothing starts after `stop`.
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
        // Do not wake the loop as soon as one ends, because each read also returns appointments that are
        // being handled.
        guard state.hasMore, state.inHand.count <= Self.mostAtOnce / 2 else { return false }
        state.hasMore = false
        return true
      }
      if wakes { loop.wake() }
      inHand.leave()
    }
  }
}
