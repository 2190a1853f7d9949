// Consequences for installations in tests without appointments.

import Store

@testable import Installations

extension InstallationConsequences {
  /// No consequences. A result in doubt stays in doubt.
  static let none = InstallationConsequences(
    receipts: { _, _ in nil }, complete: { _ in }, findOut: { _, _ in })
}
