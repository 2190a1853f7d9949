// Installation records for tests, in which a test sets only what matters to it.

package import Gate
package import JOSE
package import Store

extension Installation {
  /// An installation. It is active unless `revokedAt` is set.
  ///
  /// - Parameter operatorDeliveries: If nil, counts one delivery for an installation without a user and none
  ///   for others.
  package init(
    client: InstallationClient, appID: String, user: InstallationUser?, address: String, secret: SHA256Digest,
    generation: Int64, createdAt: Instant, usedAt: Instant, revokedAt: Instant? = nil,
    unconfirmedUntil: Instant? = nil, codes: CodeState = CodeState(), operatorDeliveries: Int64? = nil,
    attestedKey: SHA256Digest? = nil,
    key: SHA256Digest? = nil
  ) {
    self.init(
      client: client, appID: appID, user: user, address: address, secret: secret, generation: generation,
      createdAt: createdAt, usedAt: usedAt, revokedAt: revokedAt,
      unconfirmedUntil: unconfirmedUntil, codes: codes,
      operatorDeliveries: operatorDeliveries ?? (user == nil ? 1 : 0), attestedKey: attestedKey, key: key)
  }
}

extension Enrolment {
  /// An enrollment request, without keys unless a test passes them.
  package init(
    request: SHA256Digest, client: InstallationClient, appID: String, userCode: String, address: String,
    createdAt: Instant, expiresAt: Instant, forgottenAt: Instant, answeredAt: Instant, state: State,
    key: SHA256Digest? = nil, attestedKey: SHA256Digest? = nil
  ) {
    self.init(
      request: request, client: client, appID: appID, userCode: userCode, address: address,
      createdAt: createdAt, expiresAt: expiresAt, forgottenAt: forgottenAt, answeredAt: answeredAt,
      state: state, attestedKey: attestedKey, key: key)
  }
}
