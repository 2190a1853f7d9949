// Makes the apps that callers may use from the configuration.

package import Callers

extension Configuration {
  /// The apps as requests meet them.
  package var servedApps: [Callers.App] { apps.map { $0.served(by: desks) } }
}

extension Configuration.App {
  /// The app as requests meet it.
  func served(by desks: [Configuration.Desk]) -> Callers.App {
    Callers.App(
      id: id, callers: callers.map(Set.init), scope: scope, isPushed: delivery == .push, desk: desk,
      takesTickets: desks.contains { $0.id == desk && $0.takesTickets }, appCheck: appCheck,
      attested: attested)
  }
}
