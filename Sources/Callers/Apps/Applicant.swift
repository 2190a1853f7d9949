// Who asks to be admitted to an app, as the kill switch, apps and chat desks see it.

import Installations
import Store

/// Who asks to be admitted to an app. No member has a default: a check that a handler forgets would admit a caller.
package struct Applicant: Sendable {
  /// The caller; nil for an enrolment that no user authorizes.
  package let callerID: String?
  /// The app of an installation, whose `callers` need not list installations.
  package let installedFor: String?
  /// Whether the caller is one user or one phone. A chat desk takes no others.
  package let hasOwnSubject: Bool
  /// Whether the caller is an installation. Only installations get tokens by push.
  package let isInstallation: Bool
  /// The caller whose user an installation belongs to; nil for other callers and an operator's installation.
  package let ownerID: String?

  package init(
    callerID: String?, installedFor: String?, hasOwnSubject: Bool, isInstallation: Bool, ownerID: String?
  ) {
    self.callerID = callerID
    self.installedFor = installedFor
    self.hasOwnSubject = hasOwnSubject
    self.isInstallation = isInstallation
    self.ownerID = ownerID
  }

  package init(_ caller: Caller) {
    self.init(
      callerID: caller.id, installedFor: caller.installedFor, hasOwnSubject: caller.hasOwnSubject,
      isInstallation: caller.installation != nil, ownerID: caller.installation?.installation.user?.callerID)
  }
}
