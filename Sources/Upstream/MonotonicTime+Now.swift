import Glibc
import Platform

extension MonotonicTime {
  /// Now. The network's time is the machine's; what can be stepped by hand takes its time as an argument
  /// instead.
  static var now: MonotonicTime {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
