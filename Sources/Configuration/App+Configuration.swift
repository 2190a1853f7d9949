// Converts the configured apps into the form that request handlers use.

package import Callers

extension Configuration {
  /// The configured apps in the form that request handlers use.
  package var servedApps: [Callers.App] { apps.map { $0.served(by: desks) } }
}

extension Configuration.App {
  /// This app in the form that request handlers use.
  func served(by desks: [Configuration.Desk]) -> Callers.App {
    Callers.App(
      id: id, callers: callers.map(Set.init), scope: scope, isPushed: delivery == .push, desk: desk,
      takesTickets: desks.contains { $0.id == desk && $0.takesTickets }, appCheck: appCheck,
      attested: attested)
  }
}
