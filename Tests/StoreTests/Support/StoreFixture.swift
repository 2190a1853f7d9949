// A store of each kind for the contract, and a way to open it again.

import DatabaseURL
import Foundation
import Gate
import Glibc
import PostgresStore
import SQLiteStore
import Store
import StoreSupport
import Testing

/// The kinds of store.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
  case memory, sqlite, postgres

  var testDescription: String { rawValue }

  /// Those that can be tested here.
  static var available: [StoreKind] { allCases.filter { $0 != .postgres || PostgresServer.isInstalled } }
  /// Those that outlive a process.
  static var lasting: [StoreKind] { available.filter { $0 != .memory } }
}

/// A place for a store; each `open` is another instance on the same place.
final class StoreFixture: Sendable {
  let kind: StoreKind
  private let directory: TemporaryPlace?
  private let memory = memoryStore()
  private let address: PostgresAddress?

  /// - Parameter template: The database of PostgreSQL of which its own is a copy; without one it is empty.
  init(_ kind: StoreKind, template: String? = nil) throws {
    self.kind = kind
    directory = kind == .sqlite ? try TemporaryPlace() : nil
    address = kind == .postgres ? try PostgresServer.shared.get().database(template: template) : nil
  }

  func open() -> any Store {
    switch kind {
    case .memory: memory
    case .sqlite: SQLiteStore(path: path)
    case .postgres: PostgresStore(address!)
    }
  }

  /// A store with its schema.
  static func migrated(_ kind: StoreKind) async throws -> (fixture: StoreFixture, store: any Store) {
    let template = kind == .postgres ? try await PostgresServer.template.value : nil
    let fixture = try StoreFixture(kind, template: template)
    let store = fixture.open()
    try await store.migrate()
    return (fixture, store)
  }

  /// Removes what it has made; to be called at the end of a test, or the directory is gone too early.
  func end() { directory?.end() }

  var path: String { directory!.path + "/state.sqlite3" }
  /// The name of its database.
  var databaseName: String { address!.text.split(separator: "/").last.map(String.init) ?? "" }
}

/// A directory until its `end`.
final class TemporaryPlace: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/callgate-store-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw PostgresServer.Failure(description: "mkdtemp: \(errno)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func end() { try? FileManager.default.removeItem(atPath: path) }
}
