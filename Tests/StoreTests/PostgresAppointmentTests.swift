// Tests of appointments in PostgreSQL whose transactions are held up or not answered.

import DatabaseURL
import Foundation
import Gate
import TestSupport
import Testing

@testable import PostgresStore
@testable import Store

@Suite(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
struct PostgresAppointmentTests {
  /// A database with two stores: one connects directly, the other through a proxy on one connection.
  private struct Place {
    let server: PostgresServer
    let name: String
    let proxy: CuttingProxy
    let direct, behind: PostgresStore

    init() async throws {
      server = try PostgresServer.shared.get()
      let address = try server.database()
      name = try #require(address.text.split(separator: "/").last.map(String.init))
      direct = PostgresStore(address)
      try await direct.migrate()
      proxy = try CuttingProxy(to: server.port)
      behind = PostgresStore(try proxy.address(name), connections: 1)
      try await behind.ping()
    }

    func query(_ sql: String) throws -> String {
      try server.query(name, sql).trimmingCharacters(in: .newlines)
    }

    /// Runs a call whose COMMIT is held up, so that it fails with an error in doubt.
    func hold(_ body: () async throws -> Void) async throws {
      proxy.cut([.beforeCommit], thenRefuses: true)
      let error = try #require(await #expect(throws: StoreError.self) { try await body() })
      #expect(error.isInDoubt)
      proxy.refuse(false)
    }

    func end() async {
      proxy.close()
      await behind.close()
      await direct.close()
    }
  }

  @Test func `an end that waits for a move gives back what the move has taken`() async throws {
    let place = try await Place()
    let booking = Booking.made(key: "k")
    #expect(try await place.direct.book(booking, at: .noon()) == .booked)
    try await place.hold {
      _ = try await place.behind.move(.made(for: 7200, moving: booking.id), at: .noon(1))
    }
    async let end = place.direct.end(booking.id, .cancelled, at: .noon(2))
    // The cancellation has read the dedupe entry from before the move, and waits for its locks.
    try await retry {
      let waiting = try place.query(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '\(place.name)' AND wait_event_type = 'Lock'")
      if waiting != "1" { throw NeverWaited() }
    }
    place.proxy.release(passesOn: true)
    #expect(try await end.ended?.at == .noon(7200))
    #expect(try await place.direct.book(.made(for: 7200), at: .noon(3)) == .booked)
    #expect(try await place.direct.book(.made(), at: .noon(3)) == .booked)
    await place.end()
  }

  private struct NeverWaited: Error {}

  @Test(arguments: [true, false])
  func `a mark in doubt is taken back, and was not made otherwise`(_ isCommitted: Bool) async throws {
    let place = try await Place()
    let booking = Booking.made()
    #expect(try await place.direct.book(booking, at: .noon()) == .booked)
    try await place.hold {
      _ = try await place.behind.mark(booking.id, for: .noon(3600), deadline: .noon(3630))
    }
    place.proxy.release(passesOn: isCommitted)
    try await retry {
      let isPostponed = try await place.behind.postpone(booking.id, until: .noon(3605), code: nil)
      #expect(isPostponed)
    }
    let due = try #require(try await place.direct.scheduledAppointment(booking.id))
    #expect(due.due == .noon(isCommitted ? 3605 : 3600) && due.tries == 0 && due.content == booking.content)
    #expect(try await place.direct.mark(booking.id, for: due.due, deadline: .noon(3640)))
    await place.end()
  }

  @Test(arguments: [true, false])
  func `the outcome of a booking in doubt is known once it is certain, and not before`(_ isCommitted: Bool)
    async throws
  {
    let place = try await Place()
    let booking = Booking.made(key: "k", perSlot: 1, perNumber: 1)
    try await place.hold { _ = try await place.behind.book(booking, at: .noon()) }
    try await retry { try await place.behind.ping() }
    let early = await #expect(throws: StoreError.self) { try await place.behind.certainRecord(booking.id) }
    #expect(early?.kind == .unavailable && early?.isInDoubt == false)
    place.proxy.release(passesOn: isCommitted)
    var record: StoredCallback?
    try await retry { record = try await place.behind.certainRecord(booking.id) }
    #expect(record?.status == (isCommitted ? .scheduled : nil))
    let again = Booking.made(key: "k", perSlot: 1, perNumber: 1)
    let result = try await place.direct.book(again, at: .noon(1))
    #expect(result == record.map(BookingResult.replay) ?? .booked)
    await place.end()
  }

  @Test(arguments: [true, false])
  func `the outcome of a cancel in doubt is known once it is certain, and not before`(_ isCommitted: Bool)
    async throws
  {
    let place = try await Place()
    let booking = Booking.made()
    #expect(try await place.direct.book(booking, at: .noon()) == .booked)
    try await place.hold { _ = try await place.behind.end(booking.id, .cancelled, at: .noon(1)) }
    try await retry { try await place.behind.ping() }
    let early = await #expect(throws: StoreError.self) { try await place.behind.certainRecord(booking.id) }
    #expect(early?.kind == .unavailable && early?.isInDoubt == false)
    place.proxy.release(passesOn: isCommitted)
    var record: StoredCallback?
    try await retry { record = try await place.behind.certainRecord(booking.id) }
    #expect(record?.status == (isCommitted ? .cancelled : .scheduled))
    #expect(record?.settledAt == (isCommitted ? .noon(1) : nil))
    await place.end()
  }

  @Test func `a mark whose commit was not answered is there, and its instance is alive`() async throws {
    let place = try await Place()
    let booking = Booking.made()
    #expect(try await place.direct.book(booking, at: .noon()) == .booked)
    place.proxy.cut([.afterCommit])
    #expect(try await place.behind.mark(booking.id, for: .noon(3600), deadline: .noon(3630)))
    #expect(place.proxy.count == 1)
    #expect(try await place.direct.recoverCallbacks(at: .noon(3601)).callbacks == 0)
    #expect(try await place.behind.settle(booking.id, .accepted())?.wasRecovered == false)
    await place.end()
  }

  @Test func `no number or content is left when an appointment has ended`() async throws {
    let place = try await Place()
    for way in 0..<4 {
      let booking = Booking.made()
      #expect(try await place.direct.book(booking, at: .noon()) == .booked)
      let full = try place.query(
        "SELECT count(*) FROM callgate_callback WHERE content IS NOT NULL AND due IS NOT NULL")
      #expect(full == "1")
      if way >= 2 {
        #expect(try await place.direct.mark(booking.id, for: .noon(3600), deadline: .noon(3630)))
      }
      switch way {
      case 0: _ = try await place.direct.end(booking.id, .cancelled, at: .noon(1))
      case 1: _ = try await place.direct.end(booking.id, .expired(due: .noon(3600)), at: .noon(3600))
      case 2: _ = try await place.direct.settle(booking.id, .accepted(at: .noon(3601)))
      default: #expect(try await place.direct.recoverCallbacks(at: .noon(3700)).callbacks == 1)
      }
      let left = try place.query(
        """
        SELECT count(*) FROM callgate_callback
        WHERE num_nonnulls(content, content_key, content_until, due) > 0 OR contact LIKE '%4155550165%'
        """)
      #expect(left == "0")
      try await place.direct.purge(at: .noon(999_999))
    }
    await place.end()
  }
}
