// Opens the configured store: the only code that knows every kind of store.

package import Configuration
import DatabaseURL
import JOSE
import PostgresStore
import SQLiteStore
package import Store

extension Configuration.Store {
  /// The store there. Nothing is opened yet: `migrate` does that first.
  package func open() -> any Store {
    switch self {
    case .memory: return SQLiteStore.inMemory()
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
    switch self {
    case .memory: "memory"
    case .sqlite: "sqlite"
    case .postgres: "postgres"
    }
  }
}
