// The kind and place of the store, as configured.

/// A place for a store.
public enum StoreLocation: Sendable, CustomStringConvertible {
  /// In memory, until the process ends.
  case memory
  /// In an SQLite file.
  case sqlite(path: String)
  /// In a PostgreSQL database.
  case postgres(PostgresAddress)

  /// Reads `memory`, `sqlite:PATH`, `postgres://…` or `postgresql://…`; throws `misconfigured` for anything else.
  public init(_ text: String) throws(StoreError) {
    if text == "memory" {
      self = .memory
    } else if text.hasPrefix("sqlite:"), text.utf8.count > 7 {
      self = .sqlite(path: String(text.dropFirst(7)))
    } else if text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") {
      self = .postgres(try PostgresAddress(text))
    } else {
      throw StoreError(.misconfigured, "store URL", "is not memory, sqlite:PATH or postgres://…")
    }
  }

  /// A store there. Nothing is opened yet: `migrate` does that first.
  public func store() -> any Store {
    switch self {
    case .memory: MemoryStore()
    case .sqlite(let path): SQLiteStore(path: path)
    case .postgres(let address): PostgresStore(address)
    }
  }

  /// `memory`, `sqlite:PATH` or `postgres`, for logs.
  public var description: String {
    switch self {
    case .memory: "memory"
    case .sqlite(let path): "sqlite:\(path)"
    case .postgres: "postgres"
    }
  }
}
