// Estimates how long a piece of work takes, from finished work and from work that still runs.

/// An estimate of how long a piece of work takes now: a smoothed mean and deviation of recent pieces (RFC
/// 6298 §2), and never less than the mean age of the running ones. So the estimate grows while all work
/// hangs.
struct ServiceTime: Sendable {
  /// The time without a run after which the estimate is too old to use.
  static let memory = Duration.seconds(60)

  private static let origin = MonotonicTime(nanoseconds: 0)
  private var mean: Duration?
  private var deviation = Duration.zero
  private var running = 0
  /// The sum of the starting times of the running pieces.
  private var starts = Duration.zero
  private var lastEnd: MonotonicTime?

  /// Records that a piece of work begins.
  mutating func begin(at now: MonotonicTime) {
    if isForgotten(at: now) { (mean, deviation) = (nil, .zero) }
    running += 1
    starts += now - Self.origin
  }

  /// Records that a piece of work has ended.
  mutating func end<ID>(
    startedAt start: MonotonicTime, at now: MonotonicTime, _ ending: AdmissionQueue<ID>.Ending
  ) {
    running -= 1
    starts -= start - Self.origin
    lastEnd = now
    let sample = max(now - start, .zero)
    switch ending {
    case .unused: return
    case .cutShort: if let mean, sample <= mean { return }
    case .finished: break
    }
    guard let mean else {
      mean = sample
      return
    }
    let difference = sample - mean
    deviation += ((difference < .zero ? .zero - difference : difference) - deviation) / 4
    self.mean = mean + difference / 8
  }

  /// The estimated duration: the smoothed mean, or the mean age of the running pieces if that is greater.
  /// Zero if nothing has run yet.
  func estimate(at now: MonotonicTime) -> Duration {
    let age = running == 0 ? .zero : (now - Self.origin) - starts / running
    return max(mean ?? .zero, age)
  }

  /// The duration that nearly every run stays below: at least a quarter more than the estimate.
  func prudent(at now: MonotonicTime) -> Duration {
    let estimate = estimate(at: now)
    return estimate + max(deviation * 4, estimate / 4)
  }

  /// Whether nothing runs, and no run has ended within the last `memory`.
  func isForgotten(at now: MonotonicTime) -> Bool {
    running == 0 && (lastEnd.map { now - $0 > Self.memory } ?? true)
  }
}
