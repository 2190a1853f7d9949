// The protocol for devices, and for tokens that wait to be claimed, which all instances share.

public import Gate
public import JOSE

/// A store of devices and claims. When a function returns, its change survives the process and a power cut,
/// except in the store in memory.
///
/// A claim is live until exactly one call ends it: `redeemClaim`, `withdrawClaim`, `lapseClaims`, or an
/// `openClaim` that displaces it. If such a call throws an error that is in doubt, the claim may have ended.
/// The server then vends no token and gives no allowance back.
public protocol NoticeStore: Sendable {
  /// Registers the device of an installation and replaces its earlier device. If another installation has the
  /// same platform and token, the store removes them there.
  ///
  /// A webhook's name cannot be taken over from an active installation of another owner that registered it,
  /// or got a notification through it, in the last 24 h. An installation that is revoked or replaced, or that
  /// the store does not know, gets no device. A device is removed in the transaction that revokes, replaces
  /// or purges its installation.
  @discardableResult
  func registerDevice(_ device: StoredDevice) async throws(StoreError) -> DeviceRegistration

  /// Removes the device of an installation, if it has one, and frees its webhook names.
  func removeDevice(of installation: InstallationIdentity) async throws(StoreError)

  /// The registered device of an installation; nil if it has none.
  func device(of installation: InstallationIdentity) async throws(StoreError) -> StoredDevice?

  /// Records that a webhook has accepted a notification for a device, so that the installation keeps the
  /// webhook's name.
  func noteUse(of device: StoredDevice, at time: Instant) async throws(StoreError)

  /// Saves a notification that is not about a callback.
  func keepNotice(_ notice: StoredNotice) async throws(StoreError)

  /// Removes a device, unless its installation has registered it again or registered another one.
  ///
  /// - Returns: Whether the device was removed.
  func dropDevice(_ device: StoredDevice) async throws(StoreError) -> Bool

  /// Saves a new claim. If the installation then has more than `most` live claims, the oldest ones lapse. Of
  /// its ended claims, the store keeps the newest 64, or one more.
  ///
  /// - Returns: The claims that lapsed.
  func openClaim(_ claim: StoredClaim, most: Int) async throws(StoreError) -> [StoredClaim]

  /// A claim; nil if it is unknown or was purged. `purge` deletes claims 24 h after they were made.
  func claim(_ id: SHA256Digest) async throws(StoreError) -> ClaimStanding?

  /// Redeems a claim.
  ///
  /// - Returns: Whether this call redeemed the claim: true for at most one of any number of calls. False if
  ///   this installation has no such live claim, or if `time` is not before its `expires`.
  func redeemClaim(
    _ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant
  ) async throws(StoreError) -> Bool

  /// Ends a live claim without redeeming it.
  ///
  /// - Returns: Whether the claim was live.
  func withdrawClaim(_ id: SHA256Digest) async throws(StoreError) -> Bool

  /// Ends live claims that have expired.
  ///
  /// - Returns: The claims that lapsed, at most `most`. Each is returned to one caller only.
  func lapseClaims(at time: Instant, most: Int) async throws(StoreError) -> [StoredClaim]
}

extension Instant {
  /// The time up to which `purge` deletes claims, notifications and uses of webhook names: a day before this
  /// one, in nanoseconds since the epoch.
  package var claimHorizon: Int64 {
    advanced(by: .seconds(-86_400)).nanosecondsSinceEpoch
  }
}
