// Times an operation by this process's own CPU time, so that other load on the machine hardly matters.

#if canImport(Glibc)
  import Glibc
#endif

/// Counts how often something can be done per second of this process's own processor time: what others do on the
/// machine meanwhile hardly counts.
enum Stopwatch {
  /// Operations per second of processor time.
  ///
  /// The operation is first run for a tenth of the time unmeasured, to warm caches and to find a batch that takes
  /// about a millisecond, so that reading the clock costs nothing against it.
  static func rate(seconds: Double, _ operation: () throws -> Void) rethrows -> Double {
    var batch = 1
    let warmUp = processorSeconds() + seconds / 10
    while processorSeconds() < warmUp {
      let before = processorSeconds()
      for _ in 0..<batch { try operation() }
      if processorSeconds() - before < 0.001 { batch *= 2 }
    }
    var count = 0
    let start = processorSeconds()
    var used = 0.0
    while used < seconds {
      for _ in 0..<batch { try operation() }
      count += batch
      used = processorSeconds() - start
    }
    return Double(count) / used
  }

  private static func processorSeconds() -> Double {
    var time = timespec()
    let result = clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    precondition(result == 0, "the process's own clock can always be read")
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// Keeps a result alive, so that the compiler cannot drop the work that made it.
@_optimize(none)
func keep<Value>(_ value: Value) {}
