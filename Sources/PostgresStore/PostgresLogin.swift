// The address that new connections of a store use. Its user and password may change while the server runs.

package import DatabaseURL
import Synchronization

/// The address of a store's database. Its servers and its name never change; user, password and everything
/// else may.
package final class PostgresLogin: Sendable {
  private let state: Mutex<PostgresAddress>
  private let read: @Sendable () -> PostgresAddress?

  /// - Parameter read: Reads the address again from its source; nil if that fails.
  package init(_ address: PostgresAddress, read: @escaping @Sendable () -> PostgresAddress? = { nil }) {
    state = Mutex(address)
    self.read = read
  }

  /// The address for the next connection.
  package var address: PostgresAddress { state.withLock { $0 } }

  /// Uses an address for new connections, if it is of the same database.
  package func use(_ address: PostgresAddress) {
    state.withLock { if $0.database == address.database { $0 = address } }
  }

  /// Reads the address again after the database refused a login. Call it once for each refused connection, so
  /// that the pauses between connections bound the reading, too.
  /// - Returns: Whether the address has changed, so that another try makes sense.
  func refresh(after refused: PostgresAddress) -> Bool {
    if address.text == refused.text, let found = read() { use(found) }
    return address.text != refused.text
  }
}
