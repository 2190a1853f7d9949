// Tests of the increase of counters per minute.

import Testing

@testable import Metrics

@Suite struct LastHourTests {
  private func gains(_ hour: LastHour) -> [[Int]] {
    hour.kept.map { [Int($0.number)] + $0.gains.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] } }
  }

  @Test func `gains belong to the minute of the note before`() {
    var hour = LastHour()
    hour.note([:], in: 100)
    hour.note([1: 3], in: 100)
    hour.note([1: 4, 2: 1], in: 101)
    hour.note([1: 4, 2: 3], in: 101)
    #expect(gains(hour) == [[100, 1, 4, 2, 1], [101, 2, 2]])
    #expect(hour.sum == [1: 4, 2: 3])
  }

  @Test func `what counted before the first note is gained in its minute`() {
    var hour = LastHour()
    hour.note([1: 7], in: 5)
    #expect(gains(hour) == [[5, 1, 7]])
  }

  @Test func `a minute is kept for an hour`() {
    var hour = LastHour()
    hour.note([1: 1], in: 100)
    hour.note([1: 1], in: 159)
    #expect(gains(hour) == [[100, 1, 1]])
    hour.note([1: 1], in: 160)
    #expect(hour.kept.isEmpty && hour.sum.isEmpty)
  }

  @Test func `at most 60 minutes are kept, however long the process lives`() {
    var hour = LastHour()
    for minute in Int64(0)..<1000 { hour.note([1: Int(minute) + 1], in: minute) }
    hour.note([1: 1001], in: 999)
    #expect(hour.kept.count == 60)
    #expect(hour.sum == [1: 60])
  }

  @Test func `after a long pause gains are not older than the hour`() {
    var hour = LastHour()
    hour.note([:], in: 100)
    hour.note([1: 5], in: 500)
    #expect(gains(hour) == [[441, 1, 5]])
  }

  @Test func `minutes that are to come are forgotten when the clock is put back`() {
    var hour = LastHour()
    hour.note([1: 1], in: 200)
    hour.note([1: 3], in: 150)
    hour.note([1: 4], in: 151)
    #expect(gains(hour) == [[150, 1, 3]])
  }
}
