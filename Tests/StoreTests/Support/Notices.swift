// Makes installations and claims for the tests of devices and claims.

import Gate
import JOSE
import Store
import StoreSupport

extension InstallationID {
  static func numbered(_ number: Int) -> InstallationID {
    let digits = String(number, radix: 16)
    let text = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.utf8.count) + digits
    guard let id = InstallationID(text) else { preconditionFailure("a UUID") }
    return id
  }
}

extension InstallationIdentity {
  /// The installation that `putInstallation` makes.
  static func numbered(_ number: Int, generation: Int64 = 1) -> InstallationIdentity {
    InstallationIdentity(.numbered(number), generation: generation)
  }
}

extension StoredClaim {
  /// A claim that is valid for a minute.
  static func numbered(
    _ number: Int, of installation: Int = 1, created second: Double = 0, receipts: [UInt8] = [0, 255, 7]
  ) -> StoredClaim {
    StoredClaim(
      id: SHA256Digest(of: Array("\(number)".utf8)), installation: .numbered(installation), appID: "shop",
      created: .noon(second), expires: .noon(second + 60), receipts: receipts)
  }
}

extension InstallationStore {
  func putInstallation(
    _ number: Int, secret: UInt8 = 1, user: String? = nil, generation: Int64 = 1, usedAt: Instant = .noon(),
    revokedAt: Instant? = nil
  ) async throws {
    let installation = Installation(
      client: InstallationClient(id: .numbered(number), app: "Shop", detail: nil), appID: "shop",
      user: user.map { InstallationUser(callerID: "users", subject: $0) }, address: "192.0.2.1",
      secret: SHA256Digest(of: [secret]), generation: generation, createdAt: .noon(),
      usedAt: usedAt, revokedAt: revokedAt)
    try await changeInstallation(InstallationScope(installation.client.id), at: .noon()) { _ in
      (InstallationChange(installation: installation), ())
    }
  }
}
