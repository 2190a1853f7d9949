// Tests of a PostgreSQL database that sorts texts by a language instead of by their bytes.

import Gate
import StoreSupport
import Testing

@testable import PostgresStore
@testable import Store

@Suite(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
struct PostgresCollationTests {
  /// English, and English that ignores spaces and punctuation. In these, no range contains exactly the texts
  /// that share a beginning.
  private static let languages = ["en-US", "en-u-ka-shifted"]

  @Test(arguments: languages)
  func `triggers and anchors are found, and come in the order of their octets`(_ language: String)
    async throws
  {
    let store = PostgresStore(try PostgresServer.shared.get().database(language: language))
    try await store.migrate()
    // English sorts a before B, and bytes the other way round.
    let triggers = ["B", "B c", "Bb", "a", "a-c", "ab"].map { StoredTrigger(name: $0, id: "1", mark: "m") }
    let anchors = ["00aa", "0a0a", "a000"].map { StoredAnchor(boot: $0, sequence: 1, code: "c", follows: "") }
    for trigger in triggers.reversed() { try await store.save(trigger) }
    for anchor in anchors.reversed() { try await store.save(anchor) }
    #expect(try await store.triggers() == triggers)
    #expect(try await store.anchors() == anchors)
    // Saving and forgetting affect only the trigger of that name.
    let renewed = StoredTrigger(name: "a", id: "2", mark: "n")
    try await store.save(renewed)
    try await store.forgetTrigger("Bb")
    #expect(
      try await store.triggers() == [triggers[0], triggers[1], renewed, triggers[4], triggers[5]])
    await store.close()
  }

  @Test(arguments: languages)
  func `records are saved, listed and upgraded`(_ language: String) async throws {
    let (name, address) = try OldStore.postgres(
      version: 3,
      rows: [
        "INSERT INTO callgate_meta (name, value) VALUES ('trigger old', '{\"id\":\"7\",\"mark\":\"m\"}')",
        """
        INSERT INTO callgate_callback (id, caller, contact, created, status, instance, abandoned, expires)
        VALUES ('00000000-0000-4000-8000-000000000001', 'ios-app', '+*********66', 1, 'accepted', 1, 1, 9000000000000000000)
        """,
      ], language: language)
    let store = PostgresStore(address)
    try await store.migrate()
    try await store.ping()
    #expect(try await store.triggers().map(\.id) == ["7"])
    var ids = ["00000000-0000-4000-8000-000000000001"]
    for number in 0..<3 {
      let intent = CallbackIntent.made("+14155550\(number)66", app: ["b", "B", "a"][number])
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      ids.append(intent.id.description)
    }
    let listed = try await store.callbacks(CallbackQuery(limit: 9)).map(\.id.description)
    #expect(listed.count == 4 && listed == listed.sorted(by: >))
    #expect(Set(listed) == Set(ids))
    // App names are compared byte by byte.
    let stops = [Stop(.app("shop"), .access, since: 1), Stop(.app("Shop"), .access, since: 2)]
    for stop in stops { try await store.stop(stop) }
    #expect(try await store.stops().list.count == 2)
    #expect(try PostgresServer.shared.get().query(name, "SELECT 'a' < 'B'") == "t\n")
    await store.close()
  }
}
