// Devices and claims in the store, with the allowances that go back where a claim ends without a token.

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

/// What the store knows of devices and of tokens that wait. It outlives a configuration.
package struct ClaimBook: Sendable {
  /// How long a token waits.
  package static let life = Duration.seconds(60)
  /// How long the server says what a notice was about.
  static let memory = Duration.seconds(24 * 3600)
  /// How many tokens wait for an installation; the oldest gives way.
  static let mostLive = 8
  /// How often claims are looked for whose time is over, and how many are ended at once.
  private static let interval = Duration.seconds(2)
  private static let portion = 256

  let store: any NoticeStore
  /// Says which installations are alive: what another one made is unknown.
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

  /// The device of an installation.
  package func device(of installation: InstallationIdentity) async throws(Problem) -> StoredDevice {
    let device: StoredDevice?
    do throws(StoreError) { device = try await store.device(of: installation) } catch { throw Problem(error) }
    guard let device else { throw .noDevice }
    return device
  }

  /// Registers the device of an installation.
  ///
  /// - Parameter onReplaced: Gets the device whose place it takes. It is no result: in release builds, the optimizer of Swift 6.3.1
  ///   releases the texts of an optional device twice that comes out of an asynchronous function.
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

  /// Notes that a provider has taken a notice for a device.
  func used(_ device: StoredDevice) async {
    guard device.platform == PushPlatform.http.rawValue else { return }
    // Where the store fails, the name stays as long as its registration says.
    do throws(StoreError) { try await store.noteUse(of: device, at: now) } catch {}
  }

  /// Forgets a device that its provider does not know, unless it was registered after the time of which the provider speaks.
  func drop(_ device: StoredDevice, goneSince since: UnixTime?) async {
    if let since, device.registered > Instant(since) { return }
    // What fails is noted by the store. The provider will say it again.
    do throws(StoreError) { _ = try await store.dropDevice(device) } catch {}
  }

  /// The device that its installation has registered in place of another; nil where there is none.
  func replacement(of device: StoredDevice) async -> StoredDevice? {
    // Where the store fails, the notice stays with the device that is known.
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

  /// Keeps a claim. Gives the allowances back if it is certainly not kept.
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
      // Where that is in doubt the claim lapses, if it is there, and gives them back then.
      if !error.isInDoubt { await giveBack(receipts) }
      throw Problem(error)
    }
  }

  /// Takes a claim back whose notice was not taken, and gives its allowances back.
  func withdraw(_ claim: StoredClaim) async {
    // Where the store fails, the claim lapses later and gives them back then.
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

  /// What an id is to an installation.
  package enum Finding: Sendable {
    case live(StoredClaim)
    /// It was redeemed, or its time is over.
    case over
    /// Another installation's.
    case foreign
    /// Not known, or an installation's that was revoked or replaced.
    case unknown
  }

  /// Finds the claim of an id, which may be any text.
  package func find(_ text: String, for installation: InstallationIdentity) async throws(Problem) -> Finding {
    guard let id = NoticeID(text) else { return .unknown }
    let standing: ClaimStanding?
    do throws(StoreError) { standing = try await store.claim(id.digest) } catch { throw Problem(error) }
    let now = now
    switch standing {
    case nil: return .unknown
    case .live(let claim)?, .over(let claim)?:
      // The store forgets it a little later.
      guard now < claim.created.advanced(by: Self.memory) else { return .unknown }
      guard claim.installation == installation else { return try await holds(claim) ? .foreign : .unknown }
      guard case .live? = standing, now < claim.expires else { return .over }
      return .live(claim)
    }
  }

  /// Whether an id is that of a claim, live or over, of an installation that is one still.
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

  /// Spends a claim, for a token that is at hand.
  package func redeem(_ claim: StoredClaim) async throws(Problem) {
    let isRedeemed: Bool
    do throws(StoreError) {
      isRedeemed = try await store.redeemClaim(claim.id, by: claim.installation, at: now)
    } catch { throw Problem(error) }
    guard isRedeemed else { throw .claimExpired }
  }

  /// Counts a request with an id that is not known, of all instances.
  ///
  /// - Throws: `rate_limited` above 60 in a minute.
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

  /// Ends claims whose time is over, every other second, until its task is cancelled: also those of a section that a reload has
  /// removed.
  ///
  /// - Parameter isClockRight: Whether this process may judge times (`StoreHealth.isClockRight`). If not, it leaves all claims to others.
  package func keepLapsing(while isClockRight: @Sendable () -> Bool) async {
    while await clock.hasSlept(until: clock.now + Self.interval) {
      if isClockRight() { await lapse() }
    }
  }

  /// Ends the claims whose time is over, and gives their allowances back.
  func lapse() async {
    while !Task.isCancelled {
      let lapsed: [StoredClaim]
      // What fails is noted by the store, and tried again.
      do throws(StoreError) { lapsed = try await store.lapseClaims(at: now, most: Self.portion) } catch {
        return
      }
      for claim in lapsed { await giveBack(claim) }
      guard lapsed.count == Self.portion else { return }
    }
  }
}

/// Receipts as a claim has them.
enum KeptReceipts {
  /// At most as many bytes as a claim has room for. What does not fit stays counted if the claim lapses.
  static func bytes(_ receipts: [AllowanceReceipt]) -> [UInt8] {
    var documents = receipts.map { JSONValue($0.kept.document) }
    while true {
      let bytes = JSONValue.array(documents).serialized()
      guard bytes.count > StoredClaim.mostReceiptBytes, !documents.isEmpty else { return bytes }
      documents.removeLast()
    }
  }

  /// The receipts in what `bytes` makes. What a newer release has written, and this one cannot read, stays counted.
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
  /// The installation has no device that gets notices.
  package static var noDevice: Problem {
    Problem(.noDevice, "Register the device with PUT /installations/self/push first.")
  }

  /// A claim that is over, or that never was.
  package static var claimExpired: Problem {
    Problem(.claimExpired, "This claim is unknown, expired or already used. Request a new token.")
  }
}
