// The store in a PostgreSQL database that all instances share.

package import DatabaseURL
package import Platform
package import Store

/// A store in PostgreSQL, version 12 or newer.
///
/// A few connections, each owned by a queue of its own; updates that wait are committed together. A
/// transaction locks its rows before it reads them, in one order, so instances count exactly together and do
/// not wait in circles. Limits are counted by the server's clock.
package typealias PostgresStore = QueuedStore<PostgresSession>

extension QueuedStore where Session == PostgresSession {
  /// A store in a database. `migrate` makes all connections; otherwise each is made at its first use.
  ///
  /// - Parameter connections: The maximum number of connections, 1 to 64.
  package convenience init(
    _ address: PostgresAddress, connections: Int = 3, clock: any TimeSource = SystemClock()
  ) {
    self.init(PostgresLogin(address), connections: connections, clock: clock)
  }

  /// Creates a store in a database whose login may change.
  package convenience init(
    _ login: PostgresLogin, connections: Int = 3, clock: any TimeSource = SystemClock()
  ) {
    precondition((1...64).contains(connections))
    let instance = PostgresInstance(login, StoreHealth(clock: clock, hasClock: true), clock)
    self.init(
      SessionQueue(label: "callgate.postgres", count: connections, health: instance.health) {
        PostgresSession(instance)
      }, shared: instance, sharing: .instances, health: instance.health)
  }
}
