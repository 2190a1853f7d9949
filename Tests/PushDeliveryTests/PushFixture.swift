// Fixture with a store in memory, an installation with a device, and a scripted provider.

import API
import Configuration
import Gate
import HTTP
import Installations
import JOSE
import Notices
import Platform
import Records
import Sealing
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import PushDelivery

/// A sender with scripted verdicts.
final class ScriptedSender: NoticeSender {
  private struct State {
    var verdicts: [NoticeVerdict]
    var sent: [Notice] = []
    var devices: [DeviceAddress] = []
  }

  private let state: Mutex<State>
  /// Runs while a notification is on its way.
  private let meanwhile: @Sendable () async -> Void
  /// Number of POSTs per attempt, if so many are left.
  private let posts: Int

  /// A sender that accepts everything after the given verdicts.
  init(posts: Int = 1, _ verdicts: NoticeVerdict..., meanwhile: @escaping @Sendable () async -> Void = {}) {
    state = Mutex(State(verdicts: verdicts))
    self.posts = posts
    self.meanwhile = meanwhile
  }

  var sent: [Notice] { state.withLock { $0.sent } }
  var devices: [DeviceAddress] { state.withLock { $0.devices } }

  func send(
    _ notice: Notice, to device: DeviceAddress, deadline: MonotonicTime, posts: inout NoticePosts
  ) async -> NoticeVerdict {
    posts.begin()
    for _ in 1..<self.posts where posts.hasMore { posts.begin() }
    let verdict = state.withLock { state in
      state.sent.append(notice)
      state.devices.append(device)
      return state.verdicts.isEmpty ? NoticeVerdict.taken : state.verdicts.removeFirst()
    }
    await meanwhile()
    return verdict
  }
}

/// The objects that the tests share.
struct PushFixture {
  let clock = ManualTime()
  let memory: any Store = memoryStore()
  let store: any NoticeStore
  let ledger: AllowanceLedger
  let metrics = ServiceMetrics(loops: 1, routes: ["other"], audited: [])
  let log: Log
  let book: ClaimBook
  let notices: NoticeBook
  let id: InstallationIdentity
  let directory: InstallationDirectory
  private let policy: Policy

  /// - Parameters:
  ///   - limit: the number of tokens that the caller may request per day.
  ///   - failure: the call that fails in the store.
  init(limit: Int64 = 1, _ failure: FailingStore.Failure? = nil) throws {
    store = failure.map { [memory] in FailingStore(memory, $0) } ?? memory
    ledger = AllowanceLedger(store: memory)
    log = Log(
      sink: LogSink(lanes: 1, write: { _ in true }), lane: 0, level: .error, format: .json, clock: clock)
    let keys = StoreKeys(current: try .generate())
    directory = InstallationDirectory(store: memory, clock: clock)
    book = ClaimBook(store: store, directory: directory, keys: keys, ledger: ledger, clock: clock, log: log)
    notices = NoticeBook(store: memory, directory: directory, keys: keys, clock: clock)
    id = InstallationIdentity(
      try #require(InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")), generation: 1)
    policy = try Policy(rules: [
      Rule(
        name: "few",
        kind: .quota(Quota(limit: limit, period: .day), key: .global, onStoreFailure: .deny))
    ])
  }

  var now: Instant { Instant(clock.unixTime) }

  /// Saves the installation and registers its device.
  func enrol(_ token: String = "device-1", _ other: InstallationIdentity? = nil) async throws {
    let installation = Installation(
      client: InstallationClient(id: (other ?? id).id, app: "Shop", detail: nil), appID: "shop", user: nil,
      address: "192.0.2.1", secret: SHA256Digest(of: [1]), generation: 1, createdAt: now, usedAt: now)
    try await memory.changeInstallation(InstallationScope(installation.client.id), at: now) { _ in
      (InstallationChange(installation: installation), ())
    }
    _ = try await book.register(try #require(DeviceAddress(token, platform: .http)), of: other ?? id)
  }

  func push(_ sender: ScriptedSender) -> TokenPush {
    TokenPush(
      book, notices, NoticeSenders([.http: sender], clock: clock, log: log, metrics: metrics),
      texts: Configuration.Notices().texts)
  }

  /// Takes one from the allowance; nil if it is used up.
  func grant() async throws -> Once<Grant>? {
    let facts = Facts(
      action: .access, callerID: "installation", subject: "ann", appID: "shop", address: nil, phone: nil,
      claims: [], instant: now)
    let decision = policy.decide(facts, states: FetchedStates())
    let taking = await ledger.take(decision.charges, at: now)
    guard case .granted(_, let grant) = decision.settled(taking.outcome, at: now) else { return nil }
    return Once(grant)
  }

  /// Requests a token with a new grant. Returns the problem, if any.
  func ask(_ push: TokenPush) async throws -> Problem? {
    let grant = try #require(try await grant())
    let device = try await book.device(of: id)
    do throws(Problem) {
      try await push.send(grant.take(), to: device)
      return nil
    } catch {
      return error
    }
  }

  /// Whether the allowance can be taken once more. If so, this takes it.
  func hasAllowance() async throws -> Bool { try await grant() != nil }
}

/// A store in which one call fails.
struct FailingStore: NoticeStore {
  enum Failure: Sendable {
    case open(isInDoubt: Bool)
    case withdraw
    case redeem
  }

  let memory: any Store
  let failure: Failure

  init(_ memory: any Store, _ failure: Failure) {
    self.memory = memory
    self.failure = failure
  }

  private static func error(isInDoubt: Bool = false) -> StoreError {
    StoreError(.unavailable, "test", "down", isInDoubt: isInDoubt)
  }

  func registerDevice(_ device: StoredDevice) async throws(StoreError) -> DeviceRegistration {
    try await memory.registerDevice(device)
  }

  func removeDevice(of installation: InstallationIdentity) async throws(StoreError) {
    try await memory.removeDevice(of: installation)
  }

  func noteUse(of device: StoredDevice, at time: Instant) async throws(StoreError) {
    try await memory.noteUse(of: device, at: time)
  }

  func keepNotice(_ notice: StoredNotice) async throws(StoreError) { try await memory.keepNotice(notice) }

  func device(of installation: InstallationIdentity) async throws(StoreError) -> StoredDevice? {
    try await memory.device(of: installation)
  }

  func dropDevice(_ device: StoredDevice) async throws(StoreError) -> Bool {
    try await memory.dropDevice(device)
  }

  func openClaim(_ claim: StoredClaim, most: Int) async throws(StoreError) -> [StoredClaim] {
    if case .open(false) = failure { throw Self.error() }
    let lapsed = try await memory.openClaim(claim, most: most)
    if case .open = failure { throw Self.error(isInDoubt: true) }
    return lapsed
  }

  func claim(_ id: SHA256Digest) async throws(StoreError) -> ClaimStanding? { try await memory.claim(id) }

  func redeemClaim(
    _ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant
  ) async throws(StoreError) -> Bool {
    if case .redeem = failure { throw Self.error(isInDoubt: true) }
    return try await memory.redeemClaim(id, by: installation, at: time)
  }

  func withdrawClaim(_ id: SHA256Digest) async throws(StoreError) -> Bool {
    if case .withdraw = failure { throw Self.error() }
    return try await memory.withdrawClaim(id)
  }

  func lapseClaims(at time: Instant, most: Int) async throws(StoreError) -> [StoredClaim] {
    try await memory.lapseClaims(at: time, most: most)
  }
}
