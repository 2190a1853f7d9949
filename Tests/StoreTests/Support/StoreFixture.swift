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

  /// The kinds that can be tested on this machine.
  static var available: [StoreKind] { allCases.filter { $0 != .postgres || PostgresServer.isInstalled } }
  /// The kinds that outlive a process.
  static var lasting: [StoreKind] { available.filter { $0 != .memory } }
}

/// The location of a store. Each `open` returns another instance of that store.
final class StoreFixture: Sendable {
  let kind: StoreKind
  private let directory: TemporaryPlace?
  private let memory = memoryStore()
  private let address: PostgresAddress?

  /// - Parameter template: the PostgreSQL database to copy; nil for an empty one.
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

  /// A store with the current schema, and its fixture.
  static func migrated(_ kind: StoreKind) async throws -> (fixture: StoreFixture, store: any Store) {
    let template = kind == .postgres ? try await PostgresServer.template.value : nil
    let fixture = try StoreFixture(kind, template: template)
    let store = fixture.open()
    try await store.migrate()
    return (fixture, store)
  }

  /// Deletes the store's directory. To be called at the end of a test.
  func end() { directory?.end() }

  var path: String { directory!.path + "/state.sqlite3" }
  /// The name of the PostgreSQL database.
  var databaseName: String { address!.text.split(separator: "/").last.map(String.init) ?? "" }
}

/// A temporary directory, deleted by `end`.
final class TemporaryPlace: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/callgate-store-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw PostgresServer.Failure(description: "mkdtemp: \(errno)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func end() { try? FileManager.default.removeItem(atPath: path) }
}
