// The installations that may send requests: where the server finds them, and the terms of their apps.

import Gate
package import Installations
import Store

/// Installations as callers. An installation is valid as long as its app has installations and the app's
/// terms allow it.
package struct InstallationCallers: Sendable {
  package let directory: InstallationDirectory
  /// The terms of each app that has installations, by its id.
  package let terms: [String: InstallationTerms]

  package init(directory: InstallationDirectory, terms: [String: InstallationTerms]) {
    self.directory = directory
    self.terms = terms
  }

  /// Records the use of an installation that has proved its secret or its key, unless it is no longer valid.
  ///
  /// - Returns: Whether the installation is valid: neither revoked, nor unused for too long, nor of an app
  ///   without installations.
  func use(_ installation: Installation, at now: Instant) -> Bool {
    guard let terms = terms[installation.appID], Enrolling.isInstalled(installation, terms, at: now) else {
      return false
    }
    directory.used(installation, terms)
    return true
  }

  /// Whether an installation was revoked so recently that its phone may repeat the revocation. False if its
  /// app no longer has installations.
  func wasLatelyRevoked(_ installation: Installation, at now: Instant) -> Bool {
    terms[installation.appID] != nil && Enrolling.isRevokedLately(installation, at: now)
  }
}
