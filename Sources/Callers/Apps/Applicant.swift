// Who asks to be admitted to an app, as the kill switch, apps and chat desks see it.

import Installations
import Store

/// Who asks to be admitted to an app. A known caller is passed on as it is: each request makes one of these.
package enum Applicant: Sendable {
  case caller(Caller)
  /// One that a request could have, or an enrolment.
  indirect case other(Other)

  /// No member has a default: a check that a handler forgets would admit a caller.
  package struct Other: Sendable {
    fileprivate let callerID: String?
    fileprivate let installedFor: String?
    fileprivate let hasOwnSubject: Bool
    fileprivate let isInstallation: Bool
    fileprivate let ownerID: String?
  }

  package init(
    callerID: String?, installedFor: String?, hasOwnSubject: Bool, isInstallation: Bool, ownerID: String?
  ) {
    self = .other(
      Other(
        callerID: callerID, installedFor: installedFor, hasOwnSubject: hasOwnSubject,
        isInstallation: isInstallation, ownerID: ownerID))
  }

  package init(_ caller: Caller) { self = .caller(caller) }

  /// The caller; nil for an enrolment that no user authorizes.
  package var callerID: String? {
    switch self {
    case .caller(let caller): caller.id
    case .other(let other): other.callerID
    }
  }

  /// The app of an installation, whose `callers` need not list installations.
  package var installedFor: String? {
    switch self {
    case .caller(let caller): caller.installedFor
    case .other(let other): other.installedFor
    }
  }

  /// Whether the caller is one user or one phone. A chat desk takes no others.
  package var hasOwnSubject: Bool {
    switch self {
    case .caller(let caller): caller.hasOwnSubject
    case .other(let other): other.hasOwnSubject
    }
  }

  /// Whether the caller is an installation. Only installations get tokens by push.
  package var isInstallation: Bool {
    switch self {
    case .caller(let caller): caller.installation != nil
    case .other(let other): other.isInstallation
    }
  }

  /// The caller whose user an installation belongs to; nil for other callers and an operator's installation.
  package var ownerID: String? {
    switch self {
    case .caller(let caller): caller.installation?.installation.user?.callerID
    case .other(let other): other.ownerID
    }
  }
}
