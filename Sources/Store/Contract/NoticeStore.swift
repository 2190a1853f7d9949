// The protocol for devices and the tokens that wait to be claimed, which all instances share.

public import Gate
public import JOSE

/// Keeps devices and claims. When a function returns, its change survives the process and a power cut, except in the store in
/// memory.
///
/// A claim is live until exactly one call ends it: `redeemClaim`, `withdrawClaim`, `lapseClaims`, or an `openClaim` that it gives way
/// to. If such a call throws an error that is in doubt, the claim may have ended. The server then vends no token and gives no
/// allowance back.
public protocol NoticeStore: Sendable {
  /// Registers the device of an installation, in place of the one that it had. The same platform and token of another
  /// installation are removed there.
  ///
  /// The name of a hook is not taken from a living installation of another owner that registered it, or got a notice by it, in the
  /// 24 h before. An installation that is revoked or replaced, or that the store does not know, gets no device. A device is removed
  /// in the transaction that revokes, replaces or purges its installation.
  @discardableResult
  func registerDevice(_ device: StoredDevice) async throws(StoreError) -> DeviceRegistration

  /// Removes the device of an installation, if it has one, and frees its names of hooks.
  func removeDevice(of installation: InstallationIdentity) async throws(StoreError)

  /// The device of an installation.
  func device(of installation: InstallationIdentity) async throws(StoreError) -> StoredDevice?

  /// Notes that a hook has taken a notice for a device, so that its name stays with the installation.
  func noteUse(of device: StoredDevice, at time: Instant) async throws(StoreError)

  /// Keeps a notice that is about no callback.
  func keepNotice(_ notice: StoredNotice) async throws(StoreError)

  /// Removes a device, unless its installation has registered it again or registered another one.
  ///
  /// - Returns: whether it was removed.
  func dropDevice(_ device: StoredDevice) async throws(StoreError) -> Bool

  /// Keeps a new claim. Of the installation's other live claims the oldest lapse, so that it has no more than `most`. Of those that
  /// are over, the store forgets all but the newest 64, or one more.
  ///
  /// - Returns: those that lapsed.
  func openClaim(_ claim: StoredClaim, most: Int) async throws(StoreError) -> [StoredClaim]

  /// A claim; nil where it is not known, or forgotten. `purge` forgets claims 24 h after they were made.
  func claim(_ id: SHA256Digest) async throws(StoreError) -> ClaimStanding?

  /// Redeems a claim.
  ///
  /// - Returns: true for exactly one of any number of calls; false where it is no live claim of this installation, or `time` is not
  ///   before its `expires`.
  func redeemClaim(
    _ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant
  ) async throws(StoreError) -> Bool

  /// Takes a claim back.
  ///
  /// - Returns: whether it was live.
  func withdrawClaim(_ id: SHA256Digest) async throws(StoreError) -> Bool

  /// Ends live claims whose time is over.
  ///
  /// - Returns: at most `most`; each is returned to one caller only.
  func lapseClaims(at time: Instant, most: Int) async throws(StoreError) -> [StoredClaim]
}

extension Instant {
  /// Claims made up to this time are forgotten, in nanoseconds since the epoch: a day before.
  package var claimHorizon: Int64 {
    advanced(by: .seconds(-86_400)).nanosecondsSinceEpoch
  }
}
