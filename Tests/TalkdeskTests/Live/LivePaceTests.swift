// Tests of which results of a flood are read.

import HTTP
import Platform
import Testing

@testable import Talkdesk

@Suite struct LivePaceTests {
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

  private func event(_ number: Int) throws -> StreamedEvent {
    var reader = EventStreamReader()
    return try #require(try reader.take(Array("data:\(number)\n\n".utf8)).first)
  }

  @Test func `a result that was skipped is not read after a newer one`() throws {
    var pace = LivePace(now: start)
    for number in 1...LivePace.most { _ = pace.admits(try event(number), at: start) }
    // The next second begins before the newest skipped result is read.
    let isRead = pace.admits(try event(0), at: start + .seconds(1))
    let skipped = pace.takeSkipped()
    #expect(isRead && skipped == nil)
  }

  @Test func `the newest result that was skipped is read once`() throws {
    var pace = LivePace(now: start)
    for number in 1...LivePace.most { _ = pace.admits(try event(number), at: start) }
    let skipped = [pace.takeSkipped(), pace.takeSkipped()]
    #expect(skipped == [try event(LivePace.most), nil])
  }
}
