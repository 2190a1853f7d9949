// Opens the configured store for servers and for `callgate migrate`.

import JOSE
package import Store

/// Why a store cannot be used.
public struct StoreFailure: Error, Sendable, CustomStringConvertible {
  /// Whether another time could succeed: it does not answer, or has no room.
  public let isTemporary: Bool
  /// For operators; without a password.
  public let description: String

  /// - Parameter kind: The kind of store. A file is read-only until somebody changes that; a database server is while
  ///   another one takes over, or while its disk is full.
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

extension StoreLocation {
  /// The place the configuration names.
  package init(_ store: Configuration.Store) {
    switch store {
    case .memory: self = .memory
    case .sqlite(let path): self = .sqlite(path: path)
    case .postgres(let url):
      do throws(StoreError) {
        self = .postgres(try PostgresAddress(url.exposedString()))
      } catch {
        preconditionFailure("the configured URL has been read before")
      }
    }
  }

  /// The word for the kind of store.
  package var kind: String {
    switch self {
    case .memory: "memory"
    case .sqlite: "sqlite"
    case .postgres: "postgres"
    }
  }
}
