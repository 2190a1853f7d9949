// Installations in memory, which are lost when the process ends.

import Gate
import JOSE
import Synchronization
import Texts

/// All installations and requests. Counting and listing look at every one: this store is for one process, and for trying
/// things out.
struct MemoryInstallations: Sendable {
  private var installations: [InstallationID: Installation] = [:]
  private var enrolments: [SHA256Digest: Enrolment] = [:]
  /// The ids of forgotten installations that an operator had approved.
  private var spent: Set<InstallationID> = []
  /// Here, since a device ends together with its installation.
  var devices = MemoryDevices()

  func installation(_ id: InstallationID) -> Installation? { installations[id] }

  func enrolment(userCode: String, at now: Instant) -> Enrolment? {
    enrolments.values.first { $0.userCode == userCode && $0.isJudged(at: now) }
  }

  mutating func change<Result>(
    _ scope: InstallationScope, at now: Instant,
    _ body: (InstallationView) -> (InstallationChange, Result)
  ) -> (Result, Succession?) {
    var view = InstallationView(installation: installations[scope.id])
    view.isIDSpent = spent.contains(scope.id)
    view.enrolment = scope.request.flatMap { enrolments[$0] }
    if let counted = scope.user {
      view.others =
        installations.values.count {
          $0.user == counted.user && $0.appID.hasSameBytes(as: counted.appID)
            && $0.usedAt >= counted.usedSince
            && $0.revokedAt == nil && $0.client.id != scope.id
        }
    }
    if scope.countsLive {
      view.live = enrolments.values.count { $0.client.id == scope.id && $0.isLive(at: now) }
    }
    if let code = scope.userCode {
      view.pending = enrolments.values.count { $0.state == .pending && $0.isLive(at: now) }
      view.isUserCodeTaken = enrolment(userCode: code, at: now) != nil
    }
    let (change, result) = body(view)
    if change.endsDevice(of: view) { devices.remove(of: scope.id) }
    if let installation = change.installation { installations[installation.client.id] = installation }
    if change.endsOthers {
      for (request, other) in enrolments
      where other.client.id == scope.id && request != change.enrolment?.request
        && (other.state == .pending || other.state == .approved)
      {
        enrolments[request]?.state = .ended
      }
    }
    if let enrolment = change.enrolment { enrolments[enrolment.request] = enrolment }
    if let owner = change.crowds(view) {
      let revoked = installations.values.filter {
        $0.user == owner && $0.revokedAt != nil && $0.operatorDeliveries == 0
      }.sorted { ($0.revokedAt ?? now, $0.client.id) > ($1.revokedAt ?? now, $1.client.id) }
      for old in revoked.dropFirst(InstallationQuery.mostRevoked) { installations[old.client.id] = nil }
    }
    return (result, change.succession(of: view))
  }

  mutating func touch(_ uses: [InstallationID: Instant]) {
    for (id, time) in uses {
      if let kept = installations[id], kept.usedAt < time { installations[id]?.usedAt = time }
    }
  }

  /// An installation that was neither revoked nor replaced.
  func living(_ identity: InstallationIdentity) -> Installation? {
    installations[identity.id].flatMap { $0.identity == identity && $0.revokedAt == nil ? $0 : nil }
  }

  mutating func register(_ device: StoredDevice) -> DeviceRegistration {
    guard let installation = living(device.installation) else { return .ended }
    if device.isNamedByApp {
      let users = devices.users(
        of: device, since: device.registered.advanced(by: .zero - StoredDevice.nameLife))
      guard users.allSatisfy({ living($0).map { $0.owner == installation.owner } ?? true }) else {
        return .taken
      }
    }
    let before = devices[device.installation]
    devices.register(device)
    if device.isNamedByApp { devices.use(device, at: device.registered) }
    return .registered(replaced: before.flatMap { $0.name == device.name ? nil : $0 })
  }

  func installations(subject: String) -> [InstallationID] {
    let id = InstallationID(subject)
    return installations.values.compactMap { installation in
      guard installation.revokedAt == nil else { return nil }
      if let user = installation.user {
        return user.subject.hasSameBytes(as: subject) ? installation.client.id : nil
      }
      return installation.client.id == id ? id : nil
    }
  }

  func page(_ query: InstallationQuery) -> InstallationPage {
    var entries: [InstallationEntry]
    switch query.state {
    case .active, .revoked:
      entries = installations.values.lazy
        .filter { ($0.revokedAt != nil) == (query.state == .revoked) }.map { .installation($0) }
    case .pending, .approved, .denied:
      entries = enrolments.values.lazy.filter(query.lists).map { .enrolment($0) }
    }
    if let after = query.after { entries.removeAll { $0.key <= after } }
    entries.sort { $0.key < $1.key }
    return InstallationPage(cutting: entries, to: query.limit)
  }

  func counts(at now: Instant) -> InstallationCounts {
    var counts = InstallationCounts()
    for installation in installations.values {
      counts.counts[installation.revokedAt == nil ? .active : .revoked, default: 0] += 1
    }
    for enrolment in enrolments.values {
      if enrolment.state == .denied {
        counts.counts[.denied, default: 0] += 1
      } else if enrolment.isLive(at: now) {
        counts.counts[enrolment.state == .approved ? .approved : .pending, default: 0] += 1
      }
    }
    return counts
  }

  mutating func purge(at now: Instant, unusedSince unused: [String: Instant]) -> Int {
    let before = enrolments.count + installations.count
    enrolments = enrolments.filter { now < $0.value.forgottenAt }
    for (id, installation) in installations {
      guard let time = unused[installation.appID], installation.usedAt < time else { continue }
      installations[id] = nil
      if installation.operatorDeliveries > 0 { spent.insert(id) }
      devices.remove(of: id)
    }
    return before - enrolments.count - installations.count
  }
}

extension InstallationQuery {
  /// Whether a request belongs on this list.
  func lists(_ enrolment: Enrolment) -> Bool {
    switch state {
    case .pending: enrolment.state == .pending && enrolment.isLive(at: now)
    case .approved: enrolment.state == .approved && enrolment.isLive(at: now)
    case .denied: enrolment.state == .denied
    case .active, .revoked: false
    }
  }
}
