// Waits for readiness of many descriptors with epoll, and can be woken from any thread.

import CLinux
import Glibc

/// The events for which a descriptor is ready, or is watched (epoll_ctl(2)).
public struct Readiness: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// There is something to read, or the other end has finished.
  public static let read = Readiness(rawValue: EPOLLIN.rawValue)
  /// There is room to write.
  public static let write = Readiness(rawValue: EPOLLOUT.rawValue)
  /// The other end has finished writing.
  public static let peerFinished = Readiness(rawValue: EPOLLRDHUP.rawValue)
  /// The connection is broken, or finished in both directions. Always watched.
  public static let broken = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
  /// Report each change once, and not as long as the descriptor is ready (edge-triggered).
  public static let onChange = Readiness(rawValue: EPOLLET.rawValue)
  /// Wake only some of several loops that watch one socket (EPOLLEXCLUSIVE).
  public static let exclusive = Readiness(rawValue: EPOLLEXCLUSIVE.rawValue)
}

/// An epoll(7) instance with an eventfd(2) that wakes it.
///
/// `epoll_create1` and `eventfd` make it, `deinit` closes both. One thread waits; any thread may wake it.
struct Poller: ~Copyable {
  private let epoll: Descriptor
  private let bell: Descriptor
  private let events: UnsafeMutablePointer<epoll_event>
  private static let capacity: Int32 = 256
  /// The tag of the wake-up itself; slots never have it.
  private static let bellTag = UInt64.max

  init() throws(SystemError) {
    let number = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard number >= 0 else { throw SystemError(operation: "epoll_create1", code: errno) }
    let epoll = Descriptor(owning: number)
    let eventNumber = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
    guard eventNumber >= 0 else { throw SystemError(operation: "eventfd", code: errno) }
    let bell = Descriptor(owning: eventNumber)
    // Edge-triggered: each write is a new edge, so the counter need not be read.
    try Self.control(epoll, EPOLL_CTL_ADD, bell.number, [.read, .onChange], Self.bellTag)
    self.epoll = epoll
    self.bell = bell
    events = .allocate(capacity: Int(Self.capacity))
  }

  deinit { events.deallocate() }

  borrowing func add(_ number: Int32, _ readiness: Readiness, tag: UInt64) throws(SystemError) {
    try Self.control(epoll, EPOLL_CTL_ADD, number, readiness, tag)
  }

  borrowing func remove(_ number: Int32) throws(SystemError) {
    try Self.control(epoll, EPOLL_CTL_DEL, number, [], 0)
  }

  private static func control(
    _ epoll: borrowing Descriptor, _ operation: Int32, _ number: Int32, _ readiness: Readiness, _ tag: UInt64
  ) throws(SystemError) {
    var event = epoll_event(events: readiness.rawValue, data: epoll_data_t(u64: tag))
    guard epoll_ctl(epoll.number, operation, number, &event) == 0 else {
      throw SystemError(operation: "epoll_ctl", code: errno)
    }
  }

  /// Waits until a descriptor is ready or the time has passed; returns the number of events.
  ///
  /// - Parameter milliseconds: the longest wait; -1 waits forever.
  borrowing func wait(milliseconds: Int32) -> Int {
    // EINTR is not an event; the caller computes its timeout again.
    Int(max(0, epoll_wait(epoll.number, events, Self.capacity, milliseconds)))
  }

  /// One event of the last wait; nil for the wake-up.
  @inline(__always) borrowing func event(_ i: Int) -> (tag: UInt64, readiness: Readiness)? {
    let event = events[i]
    return event.data.u64 == Self.bellTag ? nil : (event.data.u64, Readiness(rawValue: event.events))
  }

  /// Ends the current or the next wait; from any thread.
  borrowing func wake() {
    var one: UInt64 = 1
    // write(2) fails only when the counter is full, and then the loop is awake.
    _ = write(bell.number, &one, MemoryLayout<UInt64>.size)
  }
}

// The events' memory is touched by the one thread that waits; descriptors may be used from any.
extension Poller: @unchecked Sendable {}
