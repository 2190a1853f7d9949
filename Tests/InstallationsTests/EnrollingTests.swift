// Tests of the steps of an enrollment, each decided from the store's records.

import Gate
import JOSE
import Store
import StoreSupport
import Testing

@testable import Installations

@Suite struct EnrollingTests {
  private let now = Instant(seconds: 1_800_000_000)
  private let client = InstallationClient(
    id: InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!, app: "Shop", detail: nil)
  private let secret = SHA256Digest(of: [1])

  private func enrolment(_ state: Enrolment.State, answered: Int64 = -60) -> Enrolment {
    Enrolment(
      request: SHA256Digest(of: [9]), client: client, appID: "shop", userCode: "BCDFGHJK",
      address: "192.0.2.1",
      createdAt: now.advanced(by: .seconds(-60)), expiresAt: now.advanced(by: .seconds(540)),
      forgottenAt: now.advanced(by: .seconds(1140)), answeredAt: now.advanced(by: .seconds(answered)),
      state: state)
  }

  private func installation(user: InstallationUser? = nil, app: String = "shop") -> Installation {
    Installation(
      client: client, appID: app, user: user, address: "192.0.2.1", secret: SHA256Digest(of: [2]),
      generation: 7,
      createdAt: now, usedAt: now)
  }

  private func poll(
    _ view: InstallationView, _ client: InstallationClient? = nil, app: String = "shop",
    proven: SHA256Digest? = nil
  ) -> Enrolling.Step<Enrolling.Poll> {
    Enrolling.poll(client ?? self.client, appID: app, secret: secret, proven: proven, view, at: now)
  }

  private func refusal<Success>(_ step: Enrolling.Step<Success>) -> InstallationRefusal? {
    #expect(step.change.isEmpty)
    if case .failure(let refusal) = step.result { return refusal }
    return nil
  }

  @Test func `only the first delivery on an operator's word has the id as its owner's name`() throws {
    func owner(after view: InstallationView) throws -> String {
      var view = view
      view.enrolment = enrolment(.approved)
      guard case .success(.delivered(let new)) = poll(view).result else { throw Missing() }
      return new.owner.subject
    }
    let named = client.id.description
    #expect(try owner(after: InstallationView()) == named)
    #expect(try owner(after: InstallationView(installation: installation())) != named)
    // A user's installation keeps the count of deliveries before it.
    let ann = InstallationUser(callerID: "users", subject: "ann")
    #expect(try owner(after: InstallationView(installation: installation(user: ann))) == named)
    let later = Installation(
      client: client, appID: "shop", user: ann, address: "192.0.2.1", secret: SHA256Digest(of: [2]),
      generation: 7, createdAt: now, usedAt: now, operatorDeliveries: 1)
    #expect(try owner(after: InstallationView(installation: later)) != named)
    // The store has deleted the first installation.
    var view = InstallationView()
    view.isIDSpent = true
    #expect(try owner(after: view).hasPrefix(named + "-"))
  }

  private struct Missing: Error {}

  @Test func `a request that is approved is delivered once, and ends the others`() throws {
    let step = poll(InstallationView(installation: installation(), enrolment: enrolment(.approved)))
    guard case .success(.delivered(let new)) = step.result else {
      Issue.record("not delivered")
      return
    }
    #expect(new.secret == secret && new.user == nil && new.generation > 7)
    #expect(step.change.enrolment?.state == .delivered && step.change.endsOthers)
    // The same transaction again, and another poll.
    let again = poll(InstallationView(installation: new, enrolment: step.change.enrolment))
    guard case .success(.delivered(let same)) = again.result else {
      Issue.record("not told again")
      return
    }
    #expect(same == new)
    #expect(
      refusal(
        Enrolling.poll(
          client, appID: "shop", secret: SHA256Digest(of: [3]), proven: nil,
          InstallationView(installation: new, enrolment: step.change.enrolment), at: now)) == .delivered)
  }

  @Test func `a secret is delivered only once that is recorded, and until then nothing changes`() {
    func step(_ state: Enrolment.State, isRecorded: Bool) -> Enrolling.Step<Enrolling.Poll> {
      Enrolling.poll(
        client, appID: "shop", secret: secret, proven: nil, isRecorded: isRecorded,
        InstallationView(enrolment: enrolment(state)), at: now)
    }
    let ready = step(.approved, isRecorded: false)
    #expect(ready.change.isEmpty && ready.result == .success(.ready))
    guard case .success(.delivered) = step(.approved, isRecorded: true).result else {
      Issue.record("not delivered")
      return
    }
    // A poll that delivers nothing needs no record.
    guard case .success(.pending) = step(.pending, isRecorded: false).result else {
      Issue.record("not pending")
      return
    }
    #expect(refusal(step(.denied, isRecorded: false)) == .denied)
  }

  @Test func `a poll reports the state of its request`() {
    #expect(refusal(poll(InstallationView(enrolment: enrolment(.denied)))) == .denied)
    #expect(refusal(poll(InstallationView(enrolment: enrolment(.ended)))) == .expired)
    #expect(refusal(poll(InstallationView(enrolment: enrolment(.pending, answered: -2)))) == .slowDown(3))
    #expect(refusal(poll(InstallationView())) == .invalidClient)
    var late = InstallationView(enrolment: enrolment(.approved))
    late.enrolment?.state = .approved
    #expect(
      refusal(
        Enrolling.poll(
          client, appID: "shop", secret: secret, proven: nil, late, at: now.advanced(by: .seconds(540))))
        == .expired)
  }

  @Test(arguments: [
    InstallationClient(id: InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!, app: "shop", detail: nil),
    InstallationClient(id: InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!, app: "Shop", detail: "x"),
    InstallationClient(id: InstallationID("7f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!, app: "Shop", detail: nil),
  ])
  func `other values are another client`(_ other: InstallationClient) {
    #expect(refusal(poll(InstallationView(enrolment: enrolment(.approved)), other)) == .invalidClient)
    #expect(refusal(poll(InstallationView(enrolment: enrolment(.approved)), app: "other")) == .invalidClient)
  }

  @Test func `a poll has to prove the key of its request, whose installation then has it`() {
    let key = SHA256Digest(of: [5])
    func keyed(_ state: Enrolment.State) -> Enrolment {
      let plain = enrolment(state)
      return Enrolment(
        request: plain.request, client: client, appID: "shop", userCode: plain.userCode,
        address: plain.address, createdAt: plain.createdAt, expiresAt: plain.expiresAt,
        forgottenAt: plain.forgottenAt, answeredAt: plain.answeredAt, state: state, key: key)
    }
    for state in Enrolment.State.allCases {
      let view = InstallationView(enrolment: keyed(state))
      #expect(refusal(poll(view)) == .noProof)
      #expect(refusal(poll(view, proven: SHA256Digest(of: [6]))) == .noProof)
    }
    var view = InstallationView(enrolment: keyed(.approved))
    #expect(poll(view, proven: key).change.installation?.key == key)
    // Another phone's request with the same key was delivered meanwhile.
    view.isKeyTaken = true
    #expect(refusal(poll(view, proven: key)) == .keyTaken)
    view.enrolment = keyed(.pending)
    #expect(refusal(Enrolling.open(keyed(.pending), view)) == nil)
    view.enrolment = nil
    #expect(refusal(Enrolling.open(keyed(.pending), view)) == .keyTaken)
    // A request without a key stays without one, whatever its polls prove.
    view = InstallationView(enrolment: enrolment(.approved))
    view.isKeyTaken = true
    #expect(poll(view, proven: key).change.installation.map { $0.key == nil } == true)
  }

  @Test func `a key of another installation is taken, whoever authorizes`() {
    var view = InstallationView()
    view.isKeyTaken = true
    let ann = InstallationUser(callerID: "users", subject: "ann")
    let key = SHA256Digest(of: [5])
    #expect(
      refusal(
        Enrolling.install(
          client, appID: "shop", user: ann, address: "192.0.2.1", secrets: [secret], key: key,
          InstallationTerms(), view, at: now)) == .keyTaken)
    #expect(
      refusal(
        Enrolling.install(
          client, appID: "shop", replacing: nil, address: "192.0.2.1", secrets: [secret], key: key,
          InstallationTerms(), view, at: now)) == .keyTaken)
    view.isKeyTaken = false
    #expect(
      Enrolling.install(
        client, appID: "shop", user: ann, address: "192.0.2.1", secrets: [secret], key: key,
        InstallationTerms(), view, at: now
      ).change.installation?.key == key)
  }

  @Test func `a user replaces only the user's own installation of the app`() {
    let ann = InstallationUser(callerID: "users", subject: "ann")
    func install(_ view: InstallationView) -> Enrolling.Step<Installation> {
      Enrolling.install(
        client, appID: "shop", user: ann, address: "192.0.2.1", secrets: [secret], key: nil,
        InstallationTerms(perSubject: 2),
        view, at: now)
    }
    guard case .success(let new) = install(InstallationView(installation: installation(user: ann))).result
    else {
      Issue.record("not replaced")
      return
    }
    #expect(new.generation > 7 && new.user == ann)
    let bob = InstallationUser(callerID: "users", subject: "bob")
    for taken in [installation(), installation(user: bob), installation(user: ann, app: "other")] {
      #expect(refusal(install(InstallationView(installation: taken))) == .taken)
    }
    var full = InstallationView()
    full.others = 2
    #expect(refusal(install(full)) == .tooMany)
    full.others = 1
    #expect(!install(full).change.isEmpty)
    // An idle installation still belongs to its owner, and perhaps to another app, whose terms are not known
    // here.
    var idle = installation(user: bob)
    idle.usedAt = Instant(seconds: 1, nanoseconds: 0)
    #expect(refusal(install(InstallationView(installation: idle))) == .taken)
    idle = installation(user: ann)
    idle.usedAt = Instant(seconds: 1, nanoseconds: 0)
    #expect(!install(InstallationView(installation: idle)).change.isEmpty)
    // The idle installation no longer counted, so it needs room.
    full = InstallationView(installation: idle)
    full.others = 2
    #expect(refusal(install(full)) == .tooMany)
    // A revoked installation has no owner.
    var revoked = installation(user: bob)
    revoked.revokedAt = now
    #expect(!install(InstallationView(installation: revoked)).change.isEmpty)
  }

  @Test func `an attestation replaces a living installation only with its secret`() {
    let old = installation().secret
    func install(
      _ kept: Installation?, replacing: SHA256Digest? = nil, app: String = "shop", key: SHA256Digest? = nil
    ) -> Enrolling.Step<Installation> {
      Enrolling.install(
        client, appID: app, replacing: replacing, address: "192.0.2.1", secrets: [secret], key: key,
        InstallationTerms(),
        InstallationView(installation: kept), at: now)
    }
    #expect(old != secret)
    var kept = installation()
    #expect(refusal(install(kept)) == .taken)
    #expect(refusal(install(kept, replacing: secret)) == .taken)
    #expect(refusal(install(kept, replacing: old, app: "other")) == .taken)
    guard case .success(let new) = install(kept, replacing: old).result else {
      Issue.record("not replaced")
      return
    }
    #expect(new.user == nil && new.secret == secret && new.generation > kept.generation)
    #expect(new.operatorDeliveries == kept.operatorDeliveries + 1)
    // If the installation has a key, whoever only has the secret could be a thief.
    let keyed = Installation(
      client: client, appID: "shop", user: nil, address: "192.0.2.1", secret: old, generation: 7,
      createdAt: now, usedAt: now, key: SHA256Digest(of: [5]))
    #expect(refusal(install(keyed, replacing: old)) == .taken)
    #expect(refusal(install(keyed, replacing: old, key: SHA256Digest(of: [6]))) == .taken)
    #expect(refusal(install(keyed, replacing: secret, key: keyed.key)) == .taken)
    #expect(install(keyed, replacing: old, key: keyed.key).change.installation?.key == keyed.key)
    // The response of this transaction was lost.
    #expect(install(new, replacing: old) == (InstallationChange(), .success(new)))
    #expect(install(nil).change.endsOthers)
    var dead = kept
    dead.revokedAt = now
    #expect(!install(dead).change.isEmpty)
    dead = kept
    dead.usedAt = Instant(seconds: 1, nanoseconds: 0)
    #expect(!install(dead).change.isEmpty)
    #expect(refusal(install(dead, app: "other")) == .taken)
    // A user's installation stays the user's.
    kept = installation(user: InstallationUser(callerID: "users", subject: "ann"))
    #expect(refusal(install(kept)) == .taken)
  }

  @Test func `a key of App Attest belongs to one installation`() {
    let key = SHA256Digest(of: [7])
    let user = InstallationUser(callerID: "users", subject: "ann")
    var view = InstallationView()
    func byAttestation() -> Enrolling.Step<Installation> {
      Enrolling.install(
        client, appID: "shop", replacing: nil, address: "192.0.2.1", secrets: [secret], key: nil,
        attestedKey: key,
        InstallationTerms(), view, at: now)
    }
    func byUser() -> Enrolling.Step<Installation> {
      Enrolling.install(
        client, appID: "shop", user: user, address: "192.0.2.1", secrets: [secret], key: nil,
        attestedKey: key,
        InstallationTerms(), view, at: now)
    }
    let waiting = Enrolment(
      request: SHA256Digest(of: [9]), client: client, appID: "shop", userCode: "BCDFGHJK",
      address: "192.0.2.1",
      createdAt: now, expiresAt: now.advanced(by: .seconds(600)), forgottenAt: now, answeredAt: now,
      state: .approved, attestedKey: key)
    #expect(byAttestation().change.installation?.attestedKey == key)
    #expect(byUser().change.installation?.attestedKey == key)
    #expect(Enrolling.open(waiting, view).change.enrolment?.attestedKey == key)
    view.isAttestedKeyTaken = true
    #expect(refusal(byAttestation()) == .keyInUse)
    #expect(refusal(byUser()) == .keyInUse)
    #expect(refusal(Enrolling.open(waiting, view)) == .keyInUse)
    // The delivering poll must lock the key first.
    func poll(_ locked: SHA256Digest?) -> Enrolling.Step<Enrolling.Poll> {
      Enrolling.poll(client, appID: "shop", secret: secret, locked: locked, proven: nil, view, at: now)
    }
    view.enrolment = waiting
    #expect(poll(nil) == (InstallationChange(), .success(.needs(key))))
    #expect(refusal(poll(key)) == .keyInUse)
    view.isAttestedKeyTaken = false
    #expect(poll(key).change.installation?.attestedKey == key)
  }

  @Test func `a repetition finds what the first request has made, and brings nothing back`() {
    let ann = InstallationUser(callerID: "users", subject: "ann")
    let other = SHA256Digest(of: [8])
    func install(
      _ kept: Installation, byUser: Bool, since: Instant?, secrets: [SHA256Digest]? = nil
    ) -> Enrolling.Step<Installation> {
      let view = InstallationView(installation: kept)
      let secrets = secrets ?? [secret, other]
      return byUser
        ? Enrolling.install(
          client, appID: "shop", user: ann, address: "192.0.2.1", secrets: secrets, since: since, key: nil,
          InstallationTerms(), view, at: now)
        : Enrolling.install(
          client, appID: "shop", replacing: nil, address: "192.0.2.1", secrets: secrets, since: since,
          key: nil, InstallationTerms(), view, at: now)
    }
    func kept(_ secret: SHA256Digest, user: InstallationUser?, isRevoked: Bool = false) -> Installation {
      Installation(
        client: client, appID: "shop", user: user, address: "192.0.2.1", secret: secret, generation: 7,
        createdAt: now, usedAt: now, revokedAt: isRevoked ? now : nil)
    }
    let before = now.advanced(by: .seconds(-1))
    for byUser in [true, false] {
      let user = byUser ? ann : nil
      for made in [secret, other] {
        let made = kept(made, user: user)
        let step = install(made, byUser: byUser, since: before)
        #expect(step.change.isEmpty && step.result == .success(made))
      }
      // The installation was revoked meanwhile, or replaced by a later request, which may itself be revoked.
      for made in [
        kept(secret, user: user, isRevoked: true), kept(SHA256Digest(of: [9]), user: user),
        kept(SHA256Digest(of: [9]), user: user, isRevoked: true),
      ] { #expect(refusal(install(made, byUser: byUser, since: before)) == .delivered) }
      // The first request made nothing, so the earlier installation is replaced as it would have been then.
      let revoked = kept(SHA256Digest(of: [9]), user: user, isRevoked: true)
      let step = install(revoked, byUser: byUser, since: now.advanced(by: .seconds(1)))
      #expect(step.change.installation?.secret == secret)
    }
  }

  @Test func `a repetition of a request that waits gets the first code`() {
    let first = enrolment(.pending)
    let second = Enrolment(
      request: first.request, client: client, appID: "shop", userCode: "CDFGHJKL", address: "192.0.2.1",
      createdAt: now, expiresAt: now.advanced(by: .seconds(600)), forgottenAt: now, answeredAt: now,
      state: .pending)
    let step = Enrolling.open(second, InstallationView(enrolment: first))
    #expect(step.change.isEmpty && step.result == .success(.opened(first)))
    #expect(Enrolling.open(second, InstallationView()).result == .success(.opened(second)))
  }

  @Test func `a revocation ends an installation, requests that are approved, or both`() {
    #expect(refusal(Enrolling.revoke(InstallationView(), at: now)) == .unknown)
    var view = InstallationView()
    view.live = 1
    var (change, result) = Enrolling.revoke(view, at: now)
    #expect(change == InstallationChange(endsOthers: true) && result == .success(.requests))
    let installation = installation()
    view.installation = installation
    (change, result) = Enrolling.revoke(view, at: now)
    var revoked = installation
    revoked.revokedAt = now
    revoked.unconfirmedUntil = now.advanced(by: .seconds(3600))
    #expect(change == InstallationChange(installation: revoked, endsOthers: true))
    #expect(result == .success(.installation(revoked)))
  }

  @Test func `another revocation finds nothing, unless the answer to the first one was in doubt`() {
    var revoked = installation()
    revoked.revokedAt = now
    #expect(refusal(Enrolling.revoke(InstallationView(installation: revoked), at: now)) == .unknown)
    revoked.unconfirmedUntil = now.advanced(by: .seconds(3600))
    for (seconds, isRepeated) in [(0, true), (3599, true), (3600, false)] {
      let (change, result) = Enrolling.revoke(
        InstallationView(installation: revoked), at: now.advanced(by: .seconds(seconds)))
      #expect(change == InstallationChange())
      #expect(result == (isRepeated ? .success(.before(revoked)) : .failure(.unknown)), "after \(seconds) s")
    }
  }

  @Test func `a phone may revoke itself again for an hour, and no other generation`() {
    var revoked = installation()
    revoked.revokedAt = now
    var view = InstallationView(installation: revoked)
    for (seconds, isRepeated) in [(0, true), (3599, true), (3600, false)] {
      let (change, result) = Enrolling.revoke(
        view, only: revoked.identity, at: now.advanced(by: .seconds(seconds)))
      #expect(change == InstallationChange())
      #expect(result == (isRepeated ? .success(.before(revoked)) : .failure(.unknown)), "after \(seconds) s")
    }
    let other = InstallationIdentity(revoked.client.id, generation: revoked.generation - 1)
    #expect(refusal(Enrolling.revoke(view, only: other, at: now)) == .invalidClient)
    // Its owner has requested another installation meanwhile.
    view.live = 1
    #expect(Enrolling.revoke(view, only: revoked.identity, at: now).0 == InstallationChange())
    #expect(Enrolling.revoke(view, only: revoked.identity, at: now).1 == .success(.before(revoked)))
  }

  @Test func `an installation has the operator who approved it, and a denial its own`() throws {
    let pending = InstallationView(enrolment: enrolment(.pending))
    let judged = try #require(Enrolling.judge(.approve, by: ann, pending, at: now).change.enrolment)
    #expect(judged.by == ann)
    let (change, _) = Enrolling.poll(
      judged.client, appID: judged.appID, secret: judged.request, proven: judged.key,
      InstallationView(enrolment: judged), at: now)
    #expect(change.installation?.by == ann)
    let bob = Operator.Identity("bob", by: .jwt)
    #expect(
      Enrolling.judge(.deny, by: bob, InstallationView(enrolment: judged), at: now).change.enrolment?.by
        == bob)
  }

  private var ann: Operator.Identity { Operator.Identity("ann", by: .token) }

  @Test func `the same judgement again changes nothing, and a denied request stays denied`() {
    let denied = InstallationView(enrolment: enrolment(.denied))
    #expect(
      Enrolling.judge(.deny, by: ann, denied, at: now) == (InstallationChange(), .success(enrolment(.denied)))
    )
    #expect(refusal(Enrolling.judge(.approve, by: ann, denied, at: now)) == .unknown)
    let approved = InstallationView(enrolment: enrolment(.approved))
    #expect(
      Enrolling.judge(.approve, by: ann, approved, at: now) == (
        InstallationChange(), .success(enrolment(.approved))
      ))
    #expect(Enrolling.judge(.deny, by: ann, approved, at: now).change.enrolment?.state == .denied)
  }

  @Test func `a code is right once, and five wrong ones lock for a growing time`() {
    let terms = InstallationTerms()
    var kept = installation()
    func verify(_ step: Int64, at now: Instant) -> Result<Bool, InstallationRefusal> {
      let (change, result) = Enrolling.verify(terms, InstallationView(installation: kept), at: now) {
        $1 == step
      }
      if let changed = change.installation { kept = changed }
      return result
    }
    let current = OneTimePassword.step(at: now.seconds)
    #expect(verify(current, at: now) == .success(true))
    #expect(verify(current, at: now) == .success(false))
    #expect(verify(current - 1, at: now) == .success(false))
    #expect(kept.codes.failures == 0)
    #expect(verify(current + 1, at: now) == .success(true))
    for count in 1...5 {
      #expect(verify(current + 99, at: now) == .success(false))
      #expect(kept.codes.failures == Int64(count))
    }
    #expect(verify(current + 2, at: now) == .failure(.locked(30)))
    var later = now.advanced(by: .seconds(30))
    for lock: Int64 in [60, 120, 240, 480, 960, 1920, 3600, 3600] {
      #expect(verify(-1, at: later) == .success(false))
      #expect(kept.codes.lockedUntil?.seconds == later.seconds + lock)
      later = later.advanced(by: .seconds(lock))
    }
    #expect(verify(OneTimePassword.step(at: later.seconds), at: later) == .success(true))
    #expect(kept.codes.failures == 0 && kept.codes.lockedUntil == nil)
    // Fractions of a second are rounded up: a client that waits as told is let in.
    later = later.advanced(by: .milliseconds(900))
    for _ in 1...5 { #expect(verify(-1, at: later) == .success(false)) }
    #expect(verify(-1, at: later.advanced(by: .milliseconds(28_200))) == .failure(.locked(2)))
  }

  @Test func `ten thousand requests wait, and no more`() {
    var view = InstallationView()
    view.pending = Enrolling.mostPending - 1
    #expect(!Enrolling.open(enrolment(.pending), view).change.isEmpty)
    view.pending += 1
    #expect(refusal(Enrolling.open(enrolment(.pending), view)) == .full)
  }
}
