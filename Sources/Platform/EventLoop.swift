// The event loop: one thread that waits for sockets and deadlines, and runs closures.

import Dispatch
import Glibc
import Synchronization

/// An object on an event loop. The loop calls it when its descriptor is ready and when its deadline has come,
/// always on the loop's own thread.
public protocol EventReceiver: AnyObject {
  /// The descriptor is ready, or `runAgain` was called; then the set is empty.
  func ready(_ readiness: Readiness)
  /// The deadline has passed and was removed. The receiver may set a new one.
  func deadlinePassed()
  /// The loop ends and will not call again: close what is open, and release references.
  func loopEnded()
}

/// The name of one registration. After the registration has ended, every use of the token does nothing.
public struct EventToken: Hashable, Sendable {
  var slot: UInt32
  var generation: UInt32
  var tag: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

  /// Names no registration.
  public static let none = EventToken(slot: .max, generation: .max)
}

/// One thread of work: `epoll_wait` in a loop, run as one long work item on a serial Dispatch queue of its
/// own.
///
/// The loop owns the receivers that are registered with it, and runs the closures that other threads send. A
/// Dispatch source for each connection would take twice the time for a request
/// (docs/decisions/0001-own-server-on-loops.md).
///
/// `@unchecked Sendable`: everything but `inbox`, `poller` and the atomics is touched only by the loop's
/// thread, which `preconditionInLoop` checks where that does not slow down every request.
public final class EventLoop: @unchecked Sendable {
  /// A closure to run. In a type of its own, a closure needs no thunk in generic code.
  private struct Work: Sendable {
    let body: @Sendable () -> Void
  }

  private struct Slot {
    var receiver: (any EventReceiver)?
    var generation: UInt32
  }

  /// The loop's index in its group.
  public let index: Int
  private let queue: DispatchQueue
  private let poller: Poller

  // Shared with other threads.
  private let inbox = Inbox<Work>()
  private let stopping = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)
  private let thread = Atomic<UInt>(0)

  // The loop's own.
  private let clock = SystemClock()
  /// The time at which the current turn began. It is computed, because other modules would check each access
  /// to a stored property at run time.
  public var now: MonotonicTime { turn }
  private var turn: MonotonicTime
  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  private var deadlines = DeadlineQueue()
  private var again: [EventToken] = []

  /// Makes a loop and starts it.
  ///
  /// - Throws: The error of the system if it has no descriptor for the loop.
  public init(index: Int = 0) throws(SystemError) {
    self.index = index
    poller = try Poller()
    turn = clock.now
    queue = DispatchQueue(label: "callgate.loop.\(index)")
    queue.async { self.run() }
  }

  /// Ends the loop after its current turn, and releases its receivers. Closures that have not run by then
  /// never run.
  public func stop() {
    stopping.store(true, ordering: .releasing)
    poller.wake()
  }

  /// Waits until the loop has ended. Do not call it on the loop itself: it would wait for itself.
  public func join() { queue.sync {} }

  // MARK: Work from anywhere

  /// Whether the caller runs on this loop.
  public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

  /// Runs a closure on the loop, after everything sent before it; from any thread.
  public func execute(_ body: @escaping @Sendable () -> Void) {
    // Wake the loop only if the inbox was empty. The loop itself checks the inbox before it waits.
    if inbox.add(Work(body: body)), !isCurrent { poller.wake() }
    // A loop that has ended runs nothing, and the closure may hold a reference to the loop.
    if hasEnded.load(ordering: .sequentiallyConsistent) { inbox.drain { _ in } }
  }

  /// Runs a closure on the loop and waits for its result; from any thread but the loop's.
  public func run<R: Sendable>(_ body: @escaping @Sendable () -> R) -> R {
    precondition(!isCurrent, "the loop cannot wait for itself")
    let result = Mutex<R?>(nil)
    let done = DispatchSemaphore(value: 0)
    execute {
      let value = body()
      result.withLock { $0 = value }
      done.signal()
    }
    done.wait()
    guard let value = result.withLock({ $0 }) else { preconditionFailure("signalled without a result") }
    return value
  }

  // MARK: Registration, on the loop

  /// Watches a descriptor for a receiver, which the loop keeps alive until `unregister`.
  ///
  /// - Throws: when the system refuses (epoll_ctl(2)).
  public func register(
    _ descriptor: borrowing Descriptor, _ readiness: Readiness, _ receiver: any EventReceiver
  ) throws(SystemError) -> EventToken {
    let token = addSlot(receiver)
    do throws(SystemError) {
      try poller.add(descriptor.number, readiness, tag: token.tag)
    } catch {
      unregister(token)
      throw error
    }
    return token
  }

  /// Registers a receiver without a descriptor, for deadlines and `runAgain`.
  public func register(_ receiver: any EventReceiver) -> EventToken { addSlot(receiver) }

  /// Stops watching a registered descriptor. The deadline stays.
  public func suspend(_ token: EventToken, _ descriptor: borrowing Descriptor) throws(SystemError) {
    guard isLive(token) else { return }
    try poller.remove(descriptor.number)
  }

  /// Watches a suspended descriptor again.
  public func resume(
    _ token: EventToken, _ descriptor: borrowing Descriptor, _ readiness: Readiness
  ) throws(SystemError) {
    guard isLive(token) else { return }
    try poller.add(descriptor.number, readiness, tag: token.tag)
  }

  /// The receiver of a registration; nil once it has ended.
  public func receiver(_ token: EventToken) -> (any EventReceiver)? {
    isLive(token) ? slots[Int(token.slot)].receiver : nil
  }

  /// Ends a registration and releases the receiver. The caller closes the descriptor, so that the kernel no
  /// longer watches it. Events already fetched are recognized as stale by their generation.
  public func unregister(_ token: EventToken) {
    guard isLive(token) else { return }
    let slot = Int(token.slot)
    slots[slot].receiver = nil
    slots[slot].generation &+= 1
    deadlines.remove(slot)
    freeSlots.append(token.slot)
  }

  /// Sets, moves or removes the receiver's deadline. Moving it later costs next to nothing.
  @inline(__always) public func setDeadline(_ token: EventToken, _ deadline: MonotonicTime?) {
    guard isLive(token) else { return }
    deadlines.set(Int(token.slot), deadline)
  }

  /// Calls the receiver's `ready([])` in the next turn, after others had theirs.
  public func runAgain(_ token: EventToken) { again.append(token) }

  /// Traps unless the caller runs on this loop.
  public func preconditionInLoop() { precondition(isCurrent, "not on the loop") }

  @inline(__always) private func isLive(_ token: EventToken) -> Bool {
    let slot = Int(token.slot)
    return slot < slots.count && slots[slot].generation == token.generation && slots[slot].receiver != nil
  }

  private func addSlot(_ receiver: any EventReceiver) -> EventToken {
    preconditionInLoop()
    if let free = freeSlots.popLast() {
      slots[Int(free)].receiver = receiver
      return EventToken(slot: free, generation: slots[Int(free)].generation)
    }
    // A generation that starts at 0 keeps the tag different from `Poller.bellTag`, which is all ones.
    slots.append(Slot(receiver: receiver, generation: 0))
    return EventToken(slot: UInt32(slots.count - 1), generation: 0)
  }

  // MARK: The loop

  private func run() {
    thread.store(UInt(pthread_self()), ordering: .relaxed)
    while !stopping.load(ordering: .acquiring) {
      let count = poller.wait(milliseconds: timeout())
      turn = clock.now
      for i in 0..<count {
        guard let (tag, readiness) = poller.event(i) else { continue }
        let slot = Int(truncatingIfNeeded: tag & 0xFFFF_FFFF)
        guard slots[slot].generation == UInt32(tag >> 32), let receiver = slots[slot].receiver else {
          continue
        }
        receiver.ready(readiness)
      }
      while let slot = deadlines.next(due: turn) { slots[slot].receiver?.deadlinePassed() }
      runWork()
      runAgainNow()
    }
    for slot in slots.indices { slots[slot].receiver?.loopEnded() }
    slots.removeAll()
    hasEnded.store(true, ordering: .sequentiallyConsistent)
    inbox.drain { _ in }
    thread.store(0, ordering: .relaxed)
  }

  private func timeout() -> Int32 {
    if !again.isEmpty || !inbox.isEmpty { return 0 }
    guard let earliest = deadlines.earliest else { return -1 }
    let left = earliest.nanoseconds.subtractingClamped(clock.now.nanoseconds)
    // Rounded up: waking early would only mean waiting again.
    return left <= 0 ? 0 : Int32(clamping: left.addingClamped(999_999) / 1_000_000)
  }

  private func runWork() {
    guard !inbox.isEmpty else { return }
    inbox.drain { $0.body() }
  }

  private func runAgainNow() {
    guard !again.isEmpty else { return }
    var tokens: [EventToken] = []
    swap(&tokens, &again)
    for token in tokens where isLive(token) { slots[Int(token.slot)].receiver?.ready([]) }
  }
}
