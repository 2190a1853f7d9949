// Tests of the devices that requests for callbacks name, that every store must pass.

import Gate
import JOSE
import Sealing
import Store
import TestSupport
import Testing

@Suite struct GivenDeviceContractTests {
  private static let keys = StoreKeys(current: sealingKey)
  private static let sealingKey: StoreKey = {
    do { return try StoreKey.generate() } catch { preconditionFailure("no random bytes") }
  }()

  private static func device(of id: CallbackID, on platform: String = "http") throws -> GivenDevice {
    GivenDevice(
      platform: platform,
      sealed: try keys.seal(Array("token".utf8), for: .device, associated: id.bytes))
  }

  /// A booking whose request names a device, and whose customer is asked.
  private static func booking(_ number: String = "+14155550100") throws -> Booking {
    let made = Booking.made(number)
    var intent = made.intent
    intent.notify(try device(of: intent.id))
    var booking = Booking(
      intent: intent, at: made.at, slot: made.slot, content: made.content, limits: made.limits)
    booking.confirmAt = .noon(3480)
    return booking
  }

  private static func due(
    _ store: any Store, _ seconds: Double, on platform: String = "http"
  ) async throws -> [DueNotice] {
    let times = Instant.noon(-9000)...Instant.noon(seconds)
    return try await store.dueNotices(on: platform, questions: times, news: times, most: 9)
  }

  private static func token(_ notice: DueNotice) throws -> String {
    let sealed = try #require(notice.record.notices?.device?.token.sealed)
    let octets = try keys.open(sealed, for: .device, associated: notice.record.id.bytes)
    return String(decoding: octets, as: UTF8.self)
  }

  @Test(arguments: StoreKind.available)
  func `the device of a callback is asked and told of the end, and is forgotten then`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = try Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    #expect(try await store.book(.made("+14155550101"), at: .noon()) == .booked, "without a device")
    #expect(try await Self.due(store, 3480, on: "fcm").isEmpty)
    #expect(try await Self.due(store, 3479.999).isEmpty)
    let question = try #require(try await Self.due(store, 3480).first)
    #expect(question.device == nil && question.platform == "http" && question.action == .confirm)
    #expect(try Self.token(question) == "token")
    let digest = SHA256Digest(of: Array("id".utf8))
    #expect(try await store.takeNotice(question, id: digest, until: .noon(3500), at: .noon(3480)))
    try await store.settleNotice(question, .taken)
    #expect(try await store.notice(digest)?.notice.installation == .device(of: booking.id))
    #expect(
      try await store.callback(booking.id, of: "ios-app")?.notices?.device != nil, "the end is to be told")
    _ = try await store.end(booking.id, .expired(due: booking.at), at: .noon(3700))
    let news = try #require(try await Self.due(store, 3702).first)
    #expect(news.action == .expired)
    #expect(try Self.token(news) == "token")
    #expect(try await store.takeNotice(news, id: digest, until: .noon(3720), at: .noon(3702)))
    try await store.settleNotice(news, .taken)
    #expect(try await store.callback(booking.id, of: "ios-app")?.notices?.device == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a call at once tells its device, unless its app has read the end`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for (number, isRead) in [("+14155550100", false), ("+14155550101", true)] {
      var intent = CallbackIntent.made(number, window: .zero)
      intent.notify(try Self.device(of: intent.id, on: "fcm"))
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      try await store.settle(intent.id, .accepted())
      if isRead { try await store.told(intent.id) }
      let kept = try await store.callback(intent.id, of: "ios-app")?.notices
      #expect((kept?.device == nil) == isRead)
      #expect(try await Self.due(store, 99, on: "fcm").map(\.record.id) == (isRead ? [] : [intent.id]))
      if !isRead { try await store.told(intent.id) }
    }
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `another store key seals a device again, and a move keeps it for longer`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let booking = try Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let next = StoreKeys(current: try StoreKey.generate(), previous: Self.keys.current)
    _ = try await store.reseal(Self.keys.current.id) { value in
      guard value.purpose == .device,
        let token = try? next.open(value.sealed, for: .device, associated: value.id)
      else { return nil }
      return try? next.seal(token, for: .device, associated: value.id)
    }
    let notice = try #require(try await Self.due(store, 3480).first)
    let sealed = try #require(notice.record.notices?.device?.token)
    #expect(StoreKeys.keyID(of: sealed.sealed) == next.current.id)
    #expect(sealed.until == .noon(3600 + 200 + 10 + 3600), "an hour after its end at the latest")
    let move = Booking.made("+14155550100", for: 7200, moving: booking.id)
    let moved = try #require(try await store.move(move, at: .noon(10)).moved)
    #expect(moved.notices?.device?.token.sealed == sealed.sealed)
    #expect(moved.notices?.device?.token.until == .noon(7200 + 200 + 10 + 3600))
    await store.close()
  }
}
