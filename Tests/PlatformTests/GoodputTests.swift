// Tests of how much work is completed when more arrives than can be served.

import TestSupport
import Testing

@testable import Platform

/// Overload: more work is offered than the places can do, for any length of time.
@Suite struct GoodputTests {
  /// The distribution of the elements' durations.
  enum Service: String, CaseIterable, Sendable {
    case constant, spread, twoKinds

    func sample(_ mean: Double, _ dice: inout SeededGenerator) -> Double {
      switch self {
      case .constant: mean
      case .spread: mean * (0.5 + dice.unit())
      case .twoKinds: dice.chance(10) ? mean * 2 : mean * 8 / 9
      }
    }
  }

  struct Load: Sendable, CustomStringConvertible {
    var places: Int
    /// The work offered, as a multiple of the places' capacity.
    var offered: Double
    /// The mean duration of an element, in seconds.
    var mean: Double
    var timeout: Double
    var service: Service

    var description: String { "\(offered) × \(places) places, \(service.rawValue) \(mean) s of \(timeout) s" }
  }

  /// The elements that ended in one second.
  struct Second {
    var succeeded = 0
    var failed = 0
    var refused = 0
    var late = 0
  }

  /// Runs a load with random arrivals for twice its timeout, then for 20 more seconds, which are returned. An
  /// element that reaches its deadline is given up and has used its place for nothing.
  private func run(_ load: Load, seed: UInt64 = 7) -> ArraySlice<Second> {
    struct Run {
      var id: Int
      var end: MonotonicTime
      var isInTime: Bool
    }
    var dice = SeededGenerator(seed)
    var queue = AdmissionQueue<Int>(.init(running: load.places, waiting: 4096))
    var now = MonotonicTime(nanoseconds: 0)
    let length = 20 + Int(2 * load.timeout)
    var seconds = [Second](repeating: Second(), count: length)
    var arrivals: [MonotonicTime] = []
    var runs: [Run] = []
    let interval = load.mean / Double(load.places) / load.offered

    var second: Int { Int(now.nanoseconds / 1_000_000_000) }
    func begin(_ id: Int) {
      let deadline = arrivals[id] + .seconds(load.timeout)
      #expect(now < deadline)
      let end = now + .seconds(load.service.sample(load.mean, &dice))
      let run = Run(id: id, end: min(end, deadline), isInTime: end <= deadline)
      runs.insert(run, at: runs.firstIndex { $0.end > run.end } ?? runs.count)
    }

    var nextArrival = MonotonicTime(nanoseconds: 0)
    while true {
      now = min(nextArrival, runs.first?.end ?? nextArrival, queue.nextExpiry ?? nextArrival)
      guard second < length else { break }
      seconds[second].late += queue.expire(now: now).count
      while let run = runs.first, run.end <= now {
        runs.removeFirst()
        queue.leave(run.id, run.isInTime ? .finished : .cutShort, now: now)
        if run.isInTime {
          seconds[second].succeeded += 1
        } else {
          seconds[second].failed += 1
        }
      }
      let admitted = queue.admit(now: now)
      seconds[second].late += admitted.late.count
      for id in admitted.starts { begin(id) }
      guard nextArrival <= now else { continue }
      arrivals.append(now)
      nextArrival = now + .seconds(interval * 2 * dice.unit())
      let id = arrivals.count - 1
      switch queue.enter(id, deadline: now + .seconds(load.timeout), now: now) {
      case .starts: begin(id)
      case .waits: break
      case .refused: seconds[second].refused += 1
      }
    }
    return seconds.suffix(20)
  }

  static let loads: [Load] = [16, 64].flatMap { places in
    [1.25, 1.5, 2, 10].flatMap { offered in
      [(0.2, 0.5), (0.3, 0.5), (1, 10), (2, 20)].flatMap { mean, timeout in
        Service.allCases.map {
          Load(places: places, offered: offered, mean: mean, timeout: timeout, service: $0)
        }
      }
    }
  }

  @Test(arguments: loads.enumerated().filter { $0.offset.isMultiple(of: spacing(5)) }.map(\.element))
  func `more than can be served costs nothing of what can`(load: Load) {
    let lasting = run(load)
    let capacity = Double(load.places) / load.mean * Double(lasting.count)
    let succeeded = Double(lasting.map(\.succeeded).reduce(0, +))
    #expect(succeeded >= 0.8 * capacity, "\(Int(100 * succeeded / capacity)) % of the capacity")
  }

  @Test(arguments: [1.25, 2, 10]) func `what is started ends in time`(offered: Double) {
    let load = Load(places: 64, offered: offered, mean: 0.2, timeout: 0.5, service: .spread)
    let lasting = run(load)
    #expect(lasting.map(\.failed).reduce(0, +) * 100 <= lasting.map(\.succeeded).reduce(0, +))
    #expect(lasting.map(\.late).reduce(0, +) * 20 <= lasting.map(\.refused).reduce(0, +))
  }

  @Test func `a load that there are places for is served whole`() {
    let load = Load(places: 64, offered: 0.8, mean: 0.2, timeout: 0.5, service: .spread)
    let all = run(load)
    #expect(all.map { $0.failed + $0.refused + $0.late }.reduce(0, +) == 0)
  }
}
