// Opens the configured store for servers and for `callgate migrate`.

import JOSE
import PostgresStore
import SQLiteStore
package import Store

/// Why a store cannot be used.
public struct StoreFailure: Error, Sendable, CustomStringConvertible {
  /// Whether another time could succeed: it does not answer, or has no room.
  public let isTemporary: Bool
  /// For operators; without a password.
  public let description: String

  /// - Parameter kind: The kind of store. A file stays read-only until an operator changes that. A database
  ///   server is read-only while another one takes over, or while its disk is full.
  package init(_ error: StoreError, of kind: String) {
    switch error.kind {
    case .unavailable, .full: isTemporary = true
    case .readOnly: isTemporary = kind == "postgres"
    case .damaged, .incompatible, .refused, .rejected, .misconfigured: isTemporary = false
    }
    description = "\(error)"
  }
}

/// The store of a configuration, without a server.
public enum StoreMigration {
  /// Brings the schema up to date, under a lock; doing it again changes nothing.
  /// - Returns: What kind of store it is: `memory`, `sqlite` or `postgres`.
  public static func run(_ configuration: Configuration) async throws(StoreFailure) -> String {
    let location = StoreLocation(configuration.store)
    let store = location.store()
    var failure: StoreFailure?
    do throws(StoreError) {
      try await store.migrate()
    } catch {
      failure = StoreFailure(error, of: location.kind)
    }
    await store.close()
    if let failure { throw failure }
    return location.kind
  }
}

/// The place of a configured store, and the only code that opens each kind.
package struct StoreLocation {
  private let place: Configuration.Store

  /// The configured location.
  package init(_ place: Configuration.Store) { self.place = place }

  /// A store there. Nothing is opened yet: `migrate` does that first.
  package func store() -> any Store {
    switch place {
    case .memory: return MemoryStore()
    case .sqlite(let path): return SQLiteStore(path: path)
    case .postgres(let url):
      do throws(StoreError) {
        return PostgresStore(try PostgresAddress(url.exposedString()))
      } catch {
        preconditionFailure("the configured URL has been read before")
      }
    }
  }

  /// The word for the kind of store.
  package var kind: String {
    switch place {
    case .memory: "memory"
    case .sqlite: "sqlite"
    case .postgres: "postgres"
    }
  }
}
