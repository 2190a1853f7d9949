// The installations that may call: where they are found, and on which terms they hold.

import Gate
package import Installations
import Store

/// Installations as callers: an installation holds as long as its app has installations and its terms allow.
package struct InstallationCallers: Sendable {
  package let directory: InstallationDirectory
  /// The terms of each app that has installations, by its id.
  package let terms: [String: InstallationTerms]

  package init(directory: InstallationDirectory, terms: [String: InstallationTerms]) {
    self.directory = directory
    self.terms = terms
  }

  /// Notes the use of an installation whose secret was right.
  ///
  /// - Returns: Whether it holds: neither revoked, nor unused for too long, nor of an app without installations.
  func use(_ installation: Installation, at now: Instant) -> Bool {
    guard let terms = terms[installation.appID], Enrolling.isInstalled(installation, terms, at: now) else {
      return false
    }
    directory.used(installation, terms)
    return true
  }

  /// Whether an installation of an app with installations was revoked so lately that its phone may repeat that.
  func wasLatelyRevoked(_ installation: Installation, at now: Instant) -> Bool {
    terms[installation.appID] != nil && Enrolling.isRevokedLately(installation, at: now)
  }
}
