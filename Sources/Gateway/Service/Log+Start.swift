// Log lines about the configuration, written when a server starts.

import Configuration
import Delivery
import Gate
import Records
import SQLiteStore
import Serving

extension Log {
  /// Writes what an operator should know about a configuration when its server starts.
  func write(startOf configuration: Configuration, cappedConnections: Int?) {
    if let cappedConnections {
      // Warn only if the operator set the limit. The default is more than many machines allow.
      let isStated = configuration.origins.contains { $0.name == Settings.connections.setting.name }
      write(
        isStated ? .warning : .debug, "limits.connections is capped by the limit on open descriptors",
        ["configured": configuration.limits.connections, "connections": cappedConnections])
    }
    if case .sqlite = configuration.store, SQLiteVersion.current.hasWALResetBug {
      write(
        .info,
        "this version of SQLite can lose saved state when two processes write to one file: let no other process write to "
          + "it, or update SQLite", ["version": "\(SQLiteVersion.current)"])
    }
    write(brakesOf: configuration.policy)
    if configuration.purpose == .sandbox, configuration.hasNoOwnCaller {
      write(
        .debug, "no callers configured: the sandbox accepts any credential, or none",
        ["hint": "set DEFAULT_USERNAME=app and DEFAULT_PASSWORD, and CALLGATE_ALLOW_ANONYMOUS=false"])
    } else if configuration.allowAnonymous {
      write(.warning, "the server issues tokens without credentials: allow_anonymous is true")
    }
  }
}
