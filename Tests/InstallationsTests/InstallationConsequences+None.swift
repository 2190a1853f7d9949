// A service of installations without appointments, for tests.

import Store

@testable import Installations

extension InstallationConsequences {
  /// Nothing follows, and what is in doubt stays so.
  static let none = InstallationConsequences(
    receipts: { _, _ in nil }, complete: { _ in }, findOut: { _, _ in })
}
