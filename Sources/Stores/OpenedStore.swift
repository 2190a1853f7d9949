// Creates the configured store: the only code that knows every kind of store.

package import Configuration
import DatabaseURL
package import Platform
import PostgresStore
import SQLiteStore
package import Store

extension Configuration.Store {
  /// Creates the configured store. `migrate` opens it.
  ///
  /// - Parameter clock: The clock of the requests, for stores without a clock of their own. In a sandbox,
  ///   this clock can be set.
  package func open(clock: any TimeSource = SystemClock()) -> any Store {
    open(clock: clock, reading: { nil }).store
  }

  /// Creates the configured store, and a function that gives it another login. New connections then use the
  /// login of the setting, if the setting is for the same database.
  ///
  /// - Parameter read: Reads the setting again, after the database has refused the login.
  package func open(
    clock: any TimeSource, reading read: @escaping @Sendable () -> Configuration.Store?
  ) -> (store: any Store, useLogin: @Sendable (Configuration.Store) -> Void) {
    switch self {
    case .memory: return (SQLiteStore.inMemory(clock: clock), { _ in })
    case .sqlite(let path): return (SQLiteStore(path: path, clock: clock), { _ in })
    case .postgres:
      guard let address else { preconditionFailure("a PostgreSQL store without an address") }
      let login = PostgresLogin(address) { read()?.address }
      return (PostgresStore(login), { setting in if let address = setting.address { login.use(address) } })
    }
  }

  /// The kind of store, as one word.
  package var kind: String {
    switch self {
    case .memory: "memory"
    case .sqlite: "sqlite"
    case .postgres: "postgres"
    }
  }
}
