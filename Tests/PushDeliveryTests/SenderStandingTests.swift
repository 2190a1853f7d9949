// Tests of whether a provider may get a notification now.

import Notices
import Platform
import TestSupport
import Testing

@testable import PushDelivery

/// A wrapper that lets an expectation call mutating functions.
private final class Subject {
  private var standing = SenderStanding()

  var isStopped: Bool { standing.isStopped }
  func rest(at now: MonotonicTime) -> Duration? { standing.rest(at: now) }
  func room(most: Int, at now: MonotonicTime) -> Int { standing.room(most: most, at: now) }
  func begin(to device: DeviceAddress, at now: MonotonicTime) -> SenderStanding.Barrier? {
    standing.begin(to: device, at: now)
  }
  func refuse(at now: MonotonicTime) -> Bool { standing.refuse(at: now) }
  func succeed(startedAt start: MonotonicTime) -> Bool { standing.succeed(startedAt: start) }
  func rest(for wait: Duration, at now: MonotonicTime) -> Bool { standing.rest(for: wait, at: now) }
  func rest(_ device: DeviceAddress, for wait: Duration, at now: MonotonicTime) {
    standing.rest(device, for: wait, at: now)
  }
}

@Suite struct SenderStandingTests {
  private func device(_ number: Int = 1) throws -> DeviceAddress {
    try #require(DeviceAddress("device-\(number)", platform: .http))
  }

  private func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

  @Test func `a stop lets one notice through every ten minutes`() throws {
    let standing = Subject()
    #expect(standing.room(most: 9, at: time(0)) == 9)
    #expect(standing.refuse(at: time(0)))
    #expect(!standing.refuse(at: time(1)))
    #expect(standing.room(most: 9, at: time(600)) == 0)
    #expect(try standing.begin(to: device(), at: time(600)) == .stop(.seconds(1)))
    #expect(standing.room(most: 9, at: time(601)) == 1)
    #expect(try standing.begin(to: device(), at: time(601)) == nil)
    #expect(try standing.begin(to: device(), at: time(601)) == .stop(.seconds(600)))
    #expect(standing.isStopped)
  }

  @Test func `only a request begun after the stop ends it`() {
    let standing = Subject()
    #expect(!standing.succeed(startedAt: time(0)), "there was no stop")
    _ = standing.refuse(at: time(5))
    #expect(!standing.succeed(startedAt: time(4)))
    #expect(standing.isStopped)
    #expect(standing.succeed(startedAt: time(5)))
    #expect(!standing.isStopped && standing.room(most: 9, at: time(5)) == 9)
  }

  @Test func `of several rests the latest end counts`() throws {
    let standing = Subject()
    #expect(standing.rest(for: .seconds(30), at: time(0)))
    #expect(!standing.rest(for: .seconds(5), at: time(1)))
    #expect(standing.rest(at: time(2)) == .seconds(28))
    #expect(!standing.rest(for: .seconds(60), at: time(2)))
    #expect(try standing.begin(to: device(), at: time(61)) == .rest(.seconds(1)))
    #expect(standing.room(most: 9, at: time(61)) == 0)
    #expect(try standing.begin(to: device(), at: time(62)) == nil)
    #expect(standing.rest(at: time(62)) == nil && standing.room(most: 9, at: time(62)) == 9)
  }

  @Test func `no success ends a rest`() {
    let standing = Subject()
    _ = standing.rest(for: .seconds(30), at: time(0))
    #expect(!standing.succeed(startedAt: time(0)))
    #expect(standing.rest(at: time(1)) == .seconds(29))
  }

  @Test func `a rest does not spend the one try of a stopped sender`() throws {
    let standing = Subject()
    _ = standing.refuse(at: time(0))
    _ = standing.rest(for: .seconds(700), at: time(0))
    #expect(try standing.begin(to: device(), at: time(100)) == .stop(.seconds(600)))
    #expect(try standing.begin(to: device(), at: time(650)) == .rest(.seconds(50)))
    #expect(try standing.begin(to: device(), at: time(700)) == nil)
  }

  @Test func `the rest of a device does not delay others`() throws {
    let standing = Subject()
    let (one, other) = (try device(1), try device(2))
    standing.rest(one, for: .seconds(30), at: time(0))
    standing.rest(one, for: .seconds(5), at: time(1))
    #expect(standing.begin(to: one, at: time(10)) == .deviceRest(.seconds(20)))
    #expect(standing.begin(to: other, at: time(10)) == nil)
    #expect(standing.room(most: 9, at: time(10)) == 9 && standing.rest(at: time(10)) == nil)
    #expect(standing.begin(to: one, at: time(30)) == nil)
  }

  @Test func `rests of ten thousand devices are remembered, and the one that ends first gives way`() throws {
    let standing = Subject()
    for number in 0..<SenderStanding.mostDevices {
      standing.rest(try device(number), for: .seconds(100 + number), at: time(0))
    }
    standing.rest(try device(-1), for: .seconds(1000), at: time(0))
    #expect(try standing.begin(to: device(0), at: time(1)) == nil)
    #expect(try standing.begin(to: device(1), at: time(1)) == .deviceRest(.seconds(100)))
    #expect(try standing.begin(to: device(-1), at: time(1)) == .deviceRest(.seconds(999)))
    // Rests that have ended are removed first.
    standing.rest(try device(-2), for: .seconds(1000), at: time(102))
    #expect(try standing.begin(to: device(3), at: time(102)) == .deviceRest(.seconds(1)))
  }
}
