// Makes the apps that callers may use from the configuration.

import Callers

extension App {
  /// The app the configuration describes.
  package convenience init(_ app: Configuration.App) {
    self.init(
      id: app.id, callers: app.callers.map(Set.init), scope: app.scope, isPushed: app.delivery == .push,
      desk: app.desk)
  }
}
