// Stores with an earlier version of the schema, as an older release left them.

import DatabaseURL

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

enum OldStore {
  /// The hash key of these stores.
  static let key = StoreID(high: 1, low: 2)

  /// A PostgreSQL database with an earlier version of the schema.
  ///
  /// - Parameters:
  ///   - rows: statements that fill the database.
  ///   - language: as for `PostgresServer.database`.
  static func postgres(
    version: Int, rows: [String] = [], language: String? = nil
  ) throws -> (name: String, address: PostgresAddress) {
    let server = try PostgresServer.shared.get()
    let address = try server.database(language: language)
    let name = String(address.text.split(separator: "/").last ?? "")
    let statements =
      ["CREATE TABLE callgate_schema (version bigint PRIMARY KEY, applied bigint NOT NULL)"]
      + Migration.all.prefix(version).flatMap(\.postgres) + history(version) + rows
    _ = try server.query(name, statements.joined(separator: ";"))
    return (name, address)
  }

  /// An SQLite file with an earlier version of the schema.
  ///
  /// - Parameter rows: statements that fill the file.
  static func sqlite(_ path: String, version: Int, rows: [String] = []) throws {
    let connection = try SQLiteConnection(path: path)
    let statements =
      ["CREATE TABLE callgate_schema (version INTEGER PRIMARY KEY NOT NULL, applied INTEGER NOT NULL) STRICT"]
      + Migration.all.prefix(version).flatMap(\.sqlite) + history(version) + rows
    for statement in statements { try connection.execute(statement) }
  }

  private static func history(_ version: Int) -> [String] {
    (1...version).map { "INSERT INTO callgate_schema (version, applied) VALUES (\($0), 7)" }
      + ["INSERT INTO callgate_meta (name, value) VALUES ('hash_key', '\(key.hex)')"]
  }
}
