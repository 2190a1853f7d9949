// The parts of the current configuration for due appointments.

import Callers
package import Configuration
package import Deciding
package import Delivery
package import Installations
package import Store
import Texts

/// The parts of one configuration that handle an appointment.
package struct AppointmentSetting: Sendable {
  package let configuration: Configuration
  package let decider: Decider
  package let delivery: CallbackDelivery
  /// The directory of installations; nil if no app has any.
  package let directory: InstallationDirectory?

  package init(
    configuration: Configuration, decider: Decider, delivery: CallbackDelivery,
    directory: InstallationDirectory?
  ) {
    self.configuration = configuration
    self.decider = decider
    self.delivery = delivery
    self.directory = directory
  }

  /// The default of `appointments.late`. It also applies to saved appointments while the configuration has no
  /// `appointments`.
  package static let usualLateness = Duration.seconds(180)

  /// How long after its time an appointment's call may still be made; nil if no calls are made.
  package var lateness: Duration? { configuration.appointments?.late }

  /// Whether the installation of an appointment is still valid: it was neither revoked nor replaced, or its
  /// owner has enrolled it again for the same app. True if no installation booked the appointment. False if
  /// no app has installations any longer.
  ///
  /// - Parameter record: The current record. A record of an earlier release names the installation only in
  ///   its content.
  func isAlive(_ record: StoredCallback, _ content: AppointmentContent) async throws(StoreError) -> Bool {
    guard let installation = record.origin.installation ?? content.installation?.identity else { return true }
    guard let directory else { return false }
    return try await directory.holds(installation, orIsOf: content.owner, appID: content.appID)
  }

  /// The reason why an appointment may no longer be called, apart from the rules; nil if there is none. Used
  /// in dialogs and for moves. For a due appointment, `AppointmentCarrier` checks the two parts at different
  /// times: the caller before the rules, the installation before the request is sent.
  package func objection(
    to record: StoredCallback, _ content: AppointmentContent
  ) async throws(StoreError) -> String? {
    if let objection = objection(to: content) { return objection }
    return try await isAlive(record, content) ? nil : "its installation was revoked or replaced"
  }

  /// The reason why the configuration no longer accepts the caller of an appointment; nil if it does. An
  /// appointment of an installation needs an app that has installations. One without credentials needs
  /// anonymous access. Any other needs its caller.
  func objection(to content: AppointmentContent) -> String? {
    let id = content.callerID ?? Caller.anonymousID
    if content.installation != nil {
      let app = configuration.apps.first { content.appID?.hasSameBytes(as: $0.id) == true }
      return app?.installations == nil || directory == nil ? "its app has no installations" : nil
    }
    if id.hasSameBytes(as: Caller.anonymousID) {
      return configuration.refusesAnonymous ? "requests without credentials are refused" : nil
    }
    return configuration.callers.contains { $0.id.hasSameBytes(as: id) }
      ? nil : "caller \(id) is not configured"
  }
}
