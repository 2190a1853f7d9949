// The caller or enrollment behind a request, in the form that stops, apps and chat desks check.

import Installations
import Store

/// The caller or enrollment behind a request. An authenticated caller is stored as it is, because each
/// request makes an applicant.
package enum Applicant: Sendable {
  case caller(Caller)
  /// A caller that a request could have, or an enrollment.
  indirect case other(Other)

  /// No member has a default, because a value that a handler forgets could admit a caller.
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

  /// The caller's id; nil for an enrollment that no user authorizes.
  package var callerID: String? {
    switch self {
    case .caller(let caller): caller.id
    case .other(let other): other.callerID
    }
  }

  /// The app of an installation, or of an enrollment that no user authorizes; nil for other callers. The
  /// app's `callers` need not list either of them.
  package var installedFor: String? {
    switch self {
    case .caller(let caller): caller.installedFor
    case .other(let other): other.installedFor
    }
  }

  /// Whether the caller is one user or one phone. A chat desk accepts no other callers.
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

  /// The id of the caller whose user owns the installation. Nil for other callers, and for an installation
  /// without a user.
  package var ownerID: String? {
    switch self {
    case .caller(let caller): caller.installation?.installation.user?.callerID
    case .other(let other): other.ownerID
    }
  }
}
