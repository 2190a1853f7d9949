// Stores devices and claims, and gives allowances back when a claim ends without a token.

package import API
import Callers
import Deciding
package import Gate
package import Installations
import JOSE
import JSON
package import Notices
package import Platform
package import Records
package import Sealing
package import Store

/// The devices, and the claims for waiting tokens, in the store. The book outlives a configuration.
package struct ClaimBook: Sendable {
  /// The time for which a token waits to be claimed.
  package static let life = Duration.seconds(60)
  /// The time for which the server answers requests about a notification.
  static let memory = Duration.seconds(24 * 3600)
  /// The maximum number of waiting tokens per installation. A further token replaces the oldest.
  static let mostLive = 8
  /// The time between two searches for expired claims, and the maximum number of claims that one search ends.
  private static let interval = Duration.seconds(2)
  private static let portion = 256

  let store: any NoticeStore
  /// The directory that tells which installations are valid. A claim of another installation that is no
  /// longer valid counts as unknown.
  let directory: InstallationDirectory
  let keys: StoreKeys
  private let ledger: AllowanceLedger
  private let clock: any TimeSource
  private let log: Log

  package init(
    store: any NoticeStore, directory: InstallationDirectory, keys: StoreKeys, ledger: AllowanceLedger,
    clock: any TimeSource, log: Log
  ) {
    self.store = store
    self.directory = directory
    self.keys = keys
    self.ledger = ledger
    self.clock = clock
    self.log = log
  }

  var now: Instant { Instant(clock.unixTime) }

  // MARK: Devices

  /// Returns the device that an installation has registered, or throws `no_device` if it has none.
  package func device(of installation: InstallationIdentity) async throws(Problem) -> StoredDevice {
    let device: StoredDevice?
    do throws(StoreError) { device = try await store.device(of: installation) } catch { throw Problem(error) }
    guard let device else { throw .noDevice }
    return device
  }

  /// Registers the device of an installation.
  ///
  /// - Parameter onReplaced: Called with the device that is replaced. Not a result, because of a bug: in
  ///   release builds, the optimizer of Swift 6.3.1 releases the strings of an optional device twice when an
  ///   asynchronous function returns it.
  package func register(
    _ token: DeviceAddress, of installation: InstallationIdentity,
    onReplaced: (StoredDevice) -> Void = { _ in }
  ) async throws(Problem) {
    let device = StoredDevice(
      installation: installation, platform: token.platform.rawValue, token: token.exposed, registered: now)
    let registration: DeviceRegistration
    do throws(StoreError) { registration = try await store.registerDevice(device) } catch {
      throw Problem(error)
    }
    switch registration {
    case .taken:
      throw Problem(
        .taken, "Another installation uses this device id. Generate a new one that is hard to guess.")
    case .ended: throw .ended
    case .registered(let replaced):
      log.write(
        .info, "an installation registered its device",
        ["installation": installation.description, "provider": token.platform.rawValue])
      if let replaced { onReplaced(replaced) }
    }
  }

  /// Removes the device of an installation.
  package func removeDevice(of installation: InstallationIdentity) async throws(Problem) {
    do throws(StoreError) { try await store.removeDevice(of: installation) } catch { throw Problem(error) }
    log.write(.info, "an installation removed its device", ["installation": installation.description])
  }

  /// Records that a webhook accepted a notification for a device, so that the installation keeps the
  /// webhook's name.
  func used(_ device: StoredDevice) async {
    guard device.platform == PushPlatform.http.rawValue else { return }
    // If the store fails, the installation keeps the name for as long as the last registration allows.
    do throws(StoreError) { try await store.noteUse(of: device, at: now) } catch {}
  }

  /// Removes a device that its push provider does not know, unless it was registered after the time that the
  /// provider names.
  func drop(_ device: StoredDevice, goneSince since: UnixTime?) async {
    if let since, device.registered > Instant(since) { return }
    // The store records a failure. The provider will report the device again.
    do throws(StoreError) { _ = try await store.dropDevice(device) } catch {}
  }

  /// The device that an installation registered instead of another; nil if there is none, or if the store
  /// fails.
  func replacement(of device: StoredDevice) async -> StoredDevice? {
    // If the store fails, the notification still goes to the known device.
    do throws(StoreError) {
      guard let current = try await store.device(of: device.installation), current != device else {
        return nil
      }
      return current
    } catch {
      return nil
    }
  }

  // MARK: Opening

  /// Saves a claim. Gives its allowances back if it was certainly not saved. Also gives back the allowances
  /// of older claims that it displaces.
  func open(
    _ id: NoticeID, for installation: InstallationIdentity, appID: String, _ receipts: [AllowanceReceipt]
  ) async throws(Problem) -> StoredClaim {
    let now = now
    let claim = StoredClaim(
      id: id.digest, installation: installation, appID: appID, created: now,
      expires: now.advanced(by: Self.life), receipts: KeptReceipts.bytes(receipts))
    do throws(StoreError) {
      for lapsed in try await store.openClaim(claim, most: Self.mostLive) { await giveBack(lapsed) }
      return claim
    } catch {
      // If the commit is in doubt, the claim may exist. Once it expires, `lapse` gives back the allowances
      // whose receipts were saved.
      if !error.isInDoubt { await giveBack(receipts) }
      throw Problem(error)
    }
  }

  /// Withdraws a claim whose notification was not accepted, and gives its allowances back.
  func withdraw(_ claim: StoredClaim) async {
    // If the store fails, the claim stays live, and `lapse` gives its allowances back after it expires. If
    // the commit is in doubt and the claim has ended, the allowances stay used (see `NoticeStore`).
    do throws(StoreError) {
      if try await store.withdrawClaim(claim.id) { await giveBack(claim) }
    } catch {}
  }

  private func giveBack(_ claim: StoredClaim) async {
    await giveBack(KeptReceipts.receipts(claim.receipts))
  }

  /// Gives allowances back.
  package func giveBack(_ receipts: [AllowanceReceipt]) async { await ledger.giveBack(receipts, at: now) }

  // MARK: Finding

  /// The state of a claim for an installation.
  package enum Finding: Sendable {
    case live(StoredClaim)
    /// The claim was redeemed or withdrawn, or has expired.
    case over
    /// The claim belongs to another installation.
    case foreign
    /// There is no such claim, the claim is older than a day, or it belongs to another installation, which
    /// was revoked or replaced.
    case unknown
  }

  /// Finds the claim with an ID, which may be any text.
  package func find(_ text: String, for installation: InstallationIdentity) async throws(Problem) -> Finding {
    guard let id = NoticeID(text) else { return .unknown }
    let standing: ClaimStanding?
    do throws(StoreError) { standing = try await store.claim(id.digest) } catch { throw Problem(error) }
    let now = now
    switch standing {
    case nil: return .unknown
    case .live(let claim)?, .over(let claim)?:
      // The store deletes the claim a little later.
      guard now < claim.created.advanced(by: Self.memory) else { return .unknown }
      guard claim.installation == installation else { return try await holds(claim) ? .foreign : .unknown }
      guard case .live? = standing, now < claim.expires else { return .over }
      return .live(claim)
    }
  }

  /// Whether an ID belongs to a claim, live or ended, of an installation that is still valid.
  package func isKnown(_ id: NoticeID) async throws(Problem) -> Bool {
    let standing: ClaimStanding?
    do throws(StoreError) { standing = try await store.claim(id.digest) } catch { throw Problem(error) }
    switch standing {
    case nil: return false
    case .live(let claim)?, .over(let claim)?: return try await holds(claim)
    }
  }

  /// Whether the installation of a claim was neither revoked nor replaced.
  private func holds(_ claim: StoredClaim) async throws(Problem) -> Bool {
    do throws(StoreError) { return try await directory.holds(claim.installation) } catch {
      throw Problem(error)
    }
  }

  /// Redeems a claim, once its token is available.
  package func redeem(_ claim: StoredClaim) async throws(Problem) {
    let isRedeemed: Bool
    do throws(StoreError) {
      isRedeemed = try await store.redeemClaim(claim.id, by: claim.installation, at: now)
    } catch { throw Problem(error) }
    guard isRedeemed else { throw .claimExpired }
  }

  /// Counts a request with an unknown ID from an address. All instances count together.
  ///
  /// - Throws: `rate_limited` above 60 requests a minute, or the problem of a store that is unavailable.
  package func countUnknown(from address: IPAddress) async throws(Problem) {
    let now = now
    switch await ledger.take([AddressLimit.unknownNotices.charge(address)], at: now).outcome {
    case .taken: return
    case .refused(_, let states):
      let denial = AddressLimit.unknownNotices.denial(states, at: now)
      throw Problem(
        .rateLimited,
        "Too many unknown ids came from this address.",
        tryAgainAfter: denial.retryAfter.map { Int(clamping: $0) })
    case .unavailable: throw Problem(StoreError(.unavailable, "notices", "no store"))
    }
  }

  // MARK: Lapsing

  /// Ends expired claims every two seconds until the task is canceled, including claims of a `notices`
  /// section that a reload has removed.
  ///
  /// - Parameter isClockRight: Whether this process may decide by its clock (`StoreHealth.isClockRight`). If
  ///   not, it leaves all claims to others.
  package func keepLapsing(while isClockRight: @Sendable () -> Bool) async {
    while await clock.hasSlept(until: clock.now + Self.interval) {
      if isClockRight() { await lapse() }
    }
  }

  /// Ends expired claims, and gives their allowances back.
  func lapse() async {
    while !Task.isCancelled {
      let lapsed: [StoredClaim]
      // The store records a failure, and the next search tries again.
      do throws(StoreError) { lapsed = try await store.lapseClaims(at: now, most: Self.portion) } catch {
        return
      }
      for claim in lapsed { await giveBack(claim) }
      guard lapsed.count == Self.portion else { return }
    }
  }
}

/// Encodes and decodes the allowance receipts that a claim stores.
enum KeptReceipts {
  /// Encodes receipts in at most as many bytes as a claim has room for. Receipts that do not fit are not
  /// given back if the claim expires.
  static func bytes(_ receipts: [AllowanceReceipt]) -> [UInt8] {
    var documents = receipts.map { JSONValue($0.kept.document) }
    while true {
      let bytes = JSONValue.array(documents).serialized()
      guard bytes.count > StoredClaim.mostReceiptBytes, !documents.isEmpty else { return bytes }
      documents.removeLast()
    }
  }

  /// Decodes receipts that `bytes` encoded. Receipts of a newer release that this one cannot read are not
  /// given back.
  static func receipts(_ bytes: [UInt8]) -> [AllowanceReceipt] {
    guard !bytes.isEmpty else { return [] }
    do throws(JSONError) {
      return (try JSONValue(parsing: bytes).array ?? []).compactMap { document in
        KeptReceipt(document: FactValue(document)).map(AllowanceReceipt.init)
      }
    } catch {
      return []
    }
  }
}

extension Problem {
  /// The problem of an installation without a device for notifications.
  package static var noDevice: Problem {
    Problem(.noDevice, "Register the device with PUT /installations/self/push first.")
  }

  /// The problem of a claim that has expired, was used, or never existed.
  package static var claimExpired: Problem {
    Problem(.claimExpired, "This claim is unknown, expired or already used. Request a new token.")
  }
}
