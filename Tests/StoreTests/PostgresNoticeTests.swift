// Tests of claims in PostgreSQL whose transactions are not answered.

import DatabaseURL
import Foundation
import Gate
import Testing

@testable import PostgresStore
@testable import Store

@Suite(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
struct PostgresNoticeTests {
  /// A database, and a store that connects to it through a proxy on one connection.
  private struct Place {
    let proxy: CuttingProxy
    let direct, behind: PostgresStore
    let claim = StoredClaim.numbered(1)

    init() async throws {
      let server = try PostgresServer.shared.get()
      let address = try server.database()
      let name = try #require(address.text.split(separator: "/").last.map(String.init))
      direct = PostgresStore(address)
      try await direct.migrate()
      proxy = try CuttingProxy(to: server.port)
      behind = PostgresStore(try proxy.address(name), connections: 1)
      try await behind.ping()
    }

    func end() async {
      proxy.close()
      await behind.close()
      await direct.close()
    }
  }

  @Test func `a change that was committed but not answered is reported as made`() async throws {
    let place = try await Place()
    place.proxy.cut([.afterCommit])
    #expect(try await place.behind.openClaim(place.claim, most: 8).isEmpty)
    place.proxy.cut([.afterCommit])
    #expect(try await place.behind.redeemClaim(place.claim.id, by: place.claim.installation, at: .noon()))
    #expect(try await !place.direct.redeemClaim(place.claim.id, by: place.claim.installation, at: .noon()))
    let second = StoredClaim.numbered(2)
    _ = try await place.direct.openClaim(second, most: 8)
    place.proxy.cut([.afterCommit])
    #expect(try await place.behind.withdrawClaim(second.id))
    let third = StoredClaim.numbered(3)
    _ = try await place.direct.openClaim(third, most: 8)
    place.proxy.cut([.afterCommit])
    #expect(try await place.behind.lapseClaims(at: .noon(60), most: 9) == [third])
    #expect(place.proxy.count == 4)
    await place.end()
  }

  @Test(arguments: [true, false])
  func `a redemption in doubt is an error, whatever came of it`(_ isCommitted: Bool) async throws {
    let place = try await Place()
    let (id, owner) = (place.claim.id, place.claim.installation)
    _ = try await place.direct.openClaim(place.claim, most: 8)
    place.proxy.cut([.beforeCommit], thenRefuses: true)
    let error = try #require(
      await #expect(throws: StoreError.self) {
        try await place.behind.redeemClaim(id, by: owner, at: .noon())
      })
    #expect(error.isInDoubt)
    place.proxy.refuse(false)
    place.proxy.release(passesOn: isCommitted)
    // The next redemption waits until the first is decided.
    #expect(try await place.direct.redeemClaim(id, by: owner, at: .noon()) == !isCommitted)
    await place.end()
  }
}
