// The names of actions in audit lines and their metrics.

package import Gate

/// An action as audit lines name it: an action that rules decide, or one of operators, verifiers, owners or
/// Talkdesk.
package enum AuditedAction: String, CaseIterable, Sendable {
  case access
  case callback
  case ticket
  case enrol
  /// An operator approves an installation.
  case approve
  /// An operator denies an installation.
  case deny
  /// An operator, or the phone itself, revokes an installation.
  case revoke
  /// A caller verifies an installation's code.
  case verify
  /// An app moves an appointment to another time.
  case change
  /// An app cancels an appointment.
  case cancel
  /// A customer postpones an appointment in a dialog.
  case snooze
  /// A customer asks in a dialog to be called now.
  case connect
  /// An installation registers or removes its device.
  case device
  /// Talkdesk reports the outcome of a call.
  case outcome
  /// An operator pauses something.
  case stop
  /// An operator resumes something.
  case resume
  /// An operator reloads the configuration.
  case reload
  /// An operator blocks a number.
  case block
  /// An operator unblocks a number.
  case unblock
  /// An operator without a role that allows it reads something. Other reads have no line.
  case read

  /// The name of an action that rules decide.
  package init(_ action: Action) {
    self =
      switch action {
      case .access: .access
      case .callback: .callback
      case .ticket: .ticket
      case .enrol: .enrol
      }
  }

  /// The number of the action, from 0, in the order of `allCases`.
  package var number: Int {
    switch self {
    case .access: 0
    case .callback: 1
    case .ticket: 2
    case .enrol: 3
    case .approve: 4
    case .deny: 5
    case .revoke: 6
    case .verify: 7
    case .change: 8
    case .cancel: 9
    case .snooze: 10
    case .connect: 11
    case .device: 12
    case .outcome: 13
    case .stop: 14
    case .resume: 15
    case .reload: 16
    case .block: 17
    case .unblock: 18
    case .read: 19
    }
  }
}
