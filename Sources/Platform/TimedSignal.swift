// Lets a thread wait for a signal, with a timeout that a change of the wall clock cannot extend.

import Glibc

/// A signal for one thread, which waits for it for a limited time. A signal that comes while no thread waits
/// ends the next wait.
///
/// A wait of `DispatchSemaphore` with a timeout ends by the wall clock: if that clock is set back, the thread
/// waits longer by as much. This signal uses a condition variable on CLOCK_MONOTONIC, made by
/// `pthread_cond_init` and destroyed in `deinit`. Any thread may signal.
public final class TimedSignal: @unchecked Sendable {
  // Unchecked: `isGiven` is only touched under `lock`, and both handles are for all threads.
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var isGiven = false

  /// No signal yet.
  public init() {
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_mutex_init(lock, nil)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(lock)
    condition.deallocate()
    lock.deallocate()
  }

  /// Ends the current or the next wait.
  public func signal() {
    pthread_mutex_lock(lock)
    isGiven = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(lock)
  }

  /// Waits for the signal. Returns false if none came in this time.
  public func wait(for span: Duration) -> Bool {
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    let (seconds, attoseconds) = (span + .nanoseconds(end.tv_nsec)).components
    end.tv_sec = end.tv_sec.addingClamped(Int(clamping: seconds))
    end.tv_nsec = Int(attoseconds / 1_000_000_000)
    pthread_mutex_lock(lock)
    while !isGiven, pthread_cond_timedwait(condition, lock, &end) != ETIMEDOUT {}
    defer {
      isGiven = false
      pthread_mutex_unlock(lock)
    }
    return isGiven
  }
}
