// Logs when the store fails, recovers or has a problem, and when its keys change.

import Configuration
import Platform
package import Records
import Sealing
package import Store

/// Logs changes of a store's health.
package struct StoreLog: Sendable {
  let log: Log
  let kind: String

  package init(log: Log, kind: String) {
    self.log = log
    self.kind = kind
  }

  package func write(_ event: StoreHealth.Event) {
    switch event {
    case .unavailable(let error):
      log.write(
        .error, "the database is unavailable",
        ["store": kind, "error.type": error.kind.rawValue, "error.message": "\(error)"])
    case .available(let time):
      log.write(
        .info, "the database is available again",
        ["store": kind, "unavailable_seconds": LoggedSeconds(time)])
    case .clockDiffers(let ahead, let isTooMuch):
      log.write(
        isTooMuch ? .error : .warning, "this machine's clock differs from the database server's",
        ["difference_seconds": LoggedSeconds(ahead)])
    case .clockAgrees: log.write(.info, "this machine's clock agrees with the database server's again")
    case .unsafe(let settings):
      log.write(
        .warning, "the database server can lose saved data in a crash",
        ["settings": settings.joined(separator: ", ")])
    }
  }
}

extension Log {
  /// Logs which store keys were added or retired at startup, and which previous key can be removed.
  ///
  /// - Parameter level: The level of the line about an added key: below `info` for the sandbox, whose key no
  ///   operator has to save.
  package func write(_ changes: KeyChanges, _ level: LogSettings.Level) {
    if let added = changes.added {
      write(level, "database opened", ["store_key": "\(added.id)"])
    }
    for id in changes.removed {
      write(.info, "store key retired: no values are encrypted with it", ["store_key": "\(id)"])
    }
    if let previous = changes.previous {
      write(
        .info, "the previous store key can be removed once every instance uses the current one",
        ["previous_store_key": "\(previous.id)", "from": previous.from])
    }
  }
}
