// Decides every step of an enrolment from the rows of the store: pure, so each step can run inside a transaction.

package import Gate
package import JOSE
import Platform
package import Store
import Texts

/// Why a step is refused.
package enum InstallationRefusal: Error, Hashable, Sendable {
  /// Unknown, revoked, or with a wrong value. The client never learns which.
  case invalidClient
  /// The poll came too early. Retry after this many seconds.
  case slowDown(Int)
  /// An operator denied the request.
  case denied
  /// The request is over.
  case expired
  /// The secret was delivered already.
  case delivered
  /// The user has as many installations as the app allows.
  case tooMany
  /// Another user, app or an operator's installation has this id.
  case taken
  /// Another installation has this key of App Attest.
  case keyInUse
  /// Another installation has this key.
  case keyTaken
  /// The request has a key, and the poll no proof of it.
  case noProof
  /// Too many requests wait.
  case full
  /// No such request or installation.
  case unknown
  /// Too many wrong codes. Retry after this many seconds.
  case locked(Int)
}

/// The steps of an enrolment.
package enum Enrolling {
  /// How often a phone may poll, in seconds.
  package static let interval: Int64 = 5
  /// How many requests may wait for operators.
  package static let mostPending = 10_000

  package typealias Step<Success> = (change: InstallationChange, result: Result<Success, InstallationRefusal>)

  private static func refuse<Success>(_ refusal: InstallationRefusal) -> Step<Success> {
    (InstallationChange(), .failure(refusal))
  }

  // MARK: Requests

  /// The result of a new request.
  package enum Opening: Hashable, Sendable {
    /// The request as it is saved: of a repetition, the first one.
    case opened(Enrolment)
    /// The user code is another live request's: make another one.
    case userCodeTaken
  }

  /// Saves a new request, which waits for an operator.
  package static func open(_ enrolment: Enrolment, _ view: InstallationView) -> Step<Opening> {
    // The same transaction or request again, after its answer was lost.
    if let kept = view.enrolment, kept.request == enrolment.request {
      return (InstallationChange(), .success(.opened(kept)))
    }
    guard !view.isAttestedKeyTaken else { return refuse(.keyInUse) }
    guard !view.isKeyTaken else { return refuse(.keyTaken) }
    guard view.pending < mostPending else { return refuse(.full) }
    guard !view.isUserCodeTaken else { return (InstallationChange(), .success(.userCodeTaken)) }
    return (InstallationChange(enrolment: enrolment), .success(.opened(enrolment)))
  }

  /// The result of a poll.
  package enum Poll: Hashable, Sendable {
    case pending(Enrolment)
    /// The secret can be delivered, once that is recorded.
    case ready
    /// The transaction has to lock this key of App Attest, too.
    case needs(SHA256Digest)
    /// The secret of this poll is now the installation's.
    case delivered(Installation)
  }

  /// Answers a poll: the request still waits, or exactly one poll gets the secret.
  ///
  /// - Parameters:
  ///   - secret: SHA-256 of the secret to deliver if it is time.
  ///   - locked: The key of App Attest that the transaction has locked.
  ///   - proven: The key that the poll has proved; nil for none.
  ///   - isRecorded: Whether the secret may be delivered now. If not, nothing changes.
  package static func poll(
    _ client: InstallationClient, appID: String, secret: SHA256Digest, locked: SHA256Digest? = nil,
    proven: SHA256Digest?, isRecorded: Bool = true,
    _ view: InstallationView, at now: Instant
  ) -> Step<Poll> {
    guard var enrolment = view.enrolment, enrolment.client == client, enrolment.appID.hasSameBytes(as: appID)
    else {
      return refuse(.invalidClient)
    }
    guard enrolment.key == nil || enrolment.key == proven else { return refuse(.noProof) }
    switch enrolment.state {
    case .denied: return refuse(.denied)
    case .delivered:
      // The same transaction again, after its answer was lost.
      if let kept = view.installation, kept.secret == secret {
        return (InstallationChange(), .success(.delivered(kept)))
      }
      return refuse(.delivered)
    case .ended: return refuse(.expired)
    case .pending, .approved: break
    }
    guard now < enrolment.expiresAt else { return refuse(.expired) }
    if enrolment.state == .pending {
      let early = .seconds(interval) - (now - enrolment.answeredAt)
      guard early <= .zero else { return refuse(.slowDown(early.wholeSecondsRoundedUp)) }
      enrolment.answeredAt = now
      return (InstallationChange(enrolment: enrolment), .success(.pending(enrolment)))
    }
    // Enrolled by another request since this one was opened.
    guard enrolment.key == nil || !view.isKeyTaken else { return refuse(.keyTaken) }
    guard isRecorded else { return (InstallationChange(), .success(.ready)) }
    if let key = enrolment.attestedKey {
      guard locked == key else { return (InstallationChange(), .success(.needs(key))) }
      guard !view.isAttestedKeyTaken else { return refuse(.keyInUse) }
    }
    enrolment.state = .delivered
    let installation = installation(
      client, appID: appID, user: nil, address: enrolment.address, secret: secret, key: enrolment.key,
      attestedKey: enrolment.attestedKey, by: enrolment.by, after: view, at: now)
    return (
      InstallationChange(installation: installation, enrolment: enrolment, endsOthers: true),
      .success(.delivered(installation))
    )
  }

  /// An operator's judgement of a request.
  package enum Judgement: Sendable { case approve, deny }

  /// Approves or denies a request that waits. A repetition changes nothing.
  package static func judge(
    _ judgement: Judgement, by operator: Operator.Identity, _ view: InstallationView, at now: Instant
  ) -> Step<Enrolment> {
    guard var enrolment = view.enrolment else { return refuse(.unknown) }
    if judgement == .deny, enrolment.state == .denied { return (InstallationChange(), .success(enrolment)) }
    guard enrolment.isLive(at: now) else { return refuse(.unknown) }
    switch (judgement, enrolment.state) {
    case (.approve, .approved): return (InstallationChange(), .success(enrolment))
    case (.approve, _): enrolment.state = .approved
    case (.deny, _): enrolment.state = .denied
    }
    enrolment.by = `operator`
    return (InstallationChange(enrolment: enrolment), .success(enrolment))
  }

  // MARK: By a user

  /// What an earlier request with the same content, or the same transaction, has made before its answer was lost.
  ///
  /// - Parameters:
  ///   - secrets: SHA-256 of the secrets that it may have given.
  ///   - since: When the first request with this content came; nil for the first one.
  /// - Returns: Nil if it has made nothing.
  private static func repeated(
    _ secrets: [SHA256Digest], since: Instant?, _ view: InstallationView
  ) -> Step<Installation>? {
    guard let kept = view.installation else { return nil }
    if secrets.contains(kept.secret) {
      return kept.revokedAt == nil ? (InstallationChange(), .success(kept)) : refuse(.delivered)
    }
    // Another request was later: this one replaces nothing of its.
    if let since, kept.createdAt >= since { return refuse(.delivered) }
    return nil
  }

  /// Makes the installation of a signed-in user at once.
  ///
  /// - Parameters:
  ///   - secrets: SHA-256 of the new secret; and of the others that an earlier request with the same content may have given.
  ///   - since: When the first request with this content came; nil for the first one.
  package static func install(
    _ client: InstallationClient, appID: String, user: InstallationUser, address: String,
    secrets: [SHA256Digest], since: Instant? = nil, key: SHA256Digest?, attestedKey: SHA256Digest? = nil,
    _ terms: InstallationTerms, _ view: InstallationView, at now: Instant
  ) -> Step<Installation> {
    if let repeated = repeated(secrets, since: since, view) { return repeated }
    guard !view.isAttestedKeyTaken else { return refuse(.keyInUse) }
    var counts = false
    if let kept = view.installation, kept.revokedAt == nil {
      // Also if it is idle: this app's terms do not decide about another app's installation.
      guard kept.user == user, kept.appID.hasSameBytes(as: appID) else { return refuse(.taken) }
      counts = isInstalled(kept, terms, at: now)
    }
    guard counts || view.others < terms.perSubject else { return refuse(.tooMany) }
    guard !view.isKeyTaken else { return refuse(.keyTaken) }
    let installation = installation(
      client, appID: appID, user: user, address: address, secret: secrets[0], key: key,
      attestedKey: attestedKey, after: view, at: now)
    return (InstallationChange(installation: installation, endsOthers: true), .success(installation))
  }

  // MARK: By an attestation

  /// Makes the installation of a phone whose app is genuine. It has no user, as if an operator had approved it.
  ///
  /// An attestation proves the app, not the phone that has a living installation: replacing that one needs its secret.
  ///
  /// If that one has a key, the secret alone could be a thief's: the same key has to be proved.
  ///
  /// - Parameters:
  ///   - old: SHA-256 of the secret that came along.
  ///   - secrets: SHA-256 of the new secret; and of the others that an earlier request with the same content may have given.
  ///   - since: When the first request with this content came; nil for the first one.
  ///   - key: The thumbprint of the key that was proved; nil for none.
  package static func install(
    _ client: InstallationClient, appID: String, replacing old: SHA256Digest?, address: String,
    secrets: [SHA256Digest], since: Instant? = nil, key: SHA256Digest?, attestedKey: SHA256Digest? = nil,
    _ terms: InstallationTerms, _ view: InstallationView, at now: Instant
  ) -> Step<Installation> {
    if let repeated = repeated(secrets, since: since, view) { return repeated }
    guard !view.isAttestedKeyTaken else { return refuse(.keyInUse) }
    if let kept = view.installation, kept.revokedAt == nil {
      // This app's terms do not decide about another app's installation.
      let isLiving = !kept.appID.hasSameBytes(as: appID) || isInstalled(kept, terms, at: now)
      let isProved = kept.secret == old && (kept.key == nil || kept.key == key)
      guard !isLiving || isProved && kept.appID.hasSameBytes(as: appID) else { return refuse(.taken) }
    }
    guard !view.isKeyTaken else { return refuse(.keyTaken) }
    let installation = installation(
      client, appID: appID, user: nil, address: address, secret: secrets[0], key: key,
      attestedKey: attestedKey, after: view, at: now)
    return (InstallationChange(installation: installation, endsOthers: true), .success(installation))
  }

  private static func installation(
    _ client: InstallationClient, appID: String, user: InstallationUser?, address: String,
    secret: SHA256Digest, key: SHA256Digest?, attestedKey: SHA256Digest?,
    by operator: Operator.Identity? = nil,
    after view: InstallationView, at now: Instant
  ) -> Installation {
    let before = view.installation
    // One that the store has forgotten counts as one.
    let deliveries = before?.operatorDeliveries ?? (view.isIDSpent ? 1 : 0)
    return Installation(
      client: client, appID: appID, user: user, address: address, secret: secret,
      // Never an earlier generation, not even after the store has deleted it.
      generation: max(now.nanosecondsSinceEpoch, (before?.generation ?? 0).addingClamped(1)), createdAt: now,
      usedAt: now, revokedAt: nil, unconfirmedUntil: nil, codes: Installation.CodeState(),
      operatorDeliveries: deliveries + (user == nil ? 1 : 0),
      attestedKey: attestedKey, key: key, by: `operator`)
  }

  // MARK: Installed ones

  /// Whether an installation is valid: neither revoked nor unused for too long.
  package static func isInstalled(_ installation: Installation, _ terms: InstallationTerms, at now: Instant)
    -> Bool
  {
    installation.revokedAt == nil && now - installation.usedAt < terms.idle
  }

  /// How long another revocation of the same installation is answered like the first one: by the phone itself, and by operators
  /// where the answer to the first one was in doubt.
  static let repetition = Duration.seconds(3600)

  /// What a revocation has ended.
  package enum Revoked: Hashable, Sendable {
    case installation(Installation)
    /// An earlier revocation has ended it.
    case before(Installation)
    /// Requests alone.
    case requests
  }

  /// Revokes an installation, and ends the requests of its id, approved ones too.
  ///
  /// - Parameter only: The generation that a phone has proved to be.
  package static func revoke(
    _ view: InstallationView, only: InstallationIdentity? = nil, at now: Instant
  ) -> Step<Revoked> {
    if let only, let installation = view.installation, installation.identity != only {
      return refuse(.invalidClient)
    }
    if var installation = view.installation, installation.revokedAt == nil {
      installation.revokedAt = now
      installation.unconfirmedUntil = now.advanced(by: repetition)
      return (
        InstallationChange(installation: installation, endsOthers: true),
        .success(.installation(installation))
      )
    }
    let ends = InstallationChange(endsOthers: view.live > 0)
    if let installation = view.installation, isRepeated(installation, by: only, at: now) {
      // The phone's revocation has ended the requests of its time. Later ones are its owner's.
      return (only == nil ? ends : InstallationChange(), .success(.before(installation)))
    }
    return view.live == 0 ? refuse(.unknown) : (ends, .success(.requests))
  }

  private static func isRepeated(
    _ revoked: Installation, by phone: InstallationIdentity?, at now: Instant
  ) -> Bool {
    if phone != nil { return isRevokedLately(revoked, at: now) }
    return revoked.unconfirmedUntil.map { now < $0 } == true
  }

  /// Whether an installation was revoked so lately that its phone may repeat the revocation.
  package static func isRevokedLately(_ installation: Installation, at now: Instant) -> Bool {
    installation.revokedAt.map { now - $0 < repetition } == true
  }

  // MARK: Codes

  /// How many wrong codes in a row lock an installation.
  static let mostFailures: Int64 = 5
  /// The first lock; each further wrong code doubles it.
  static let firstLock: Int64 = 30
  /// The longest lock.
  static let longestLock: Int64 = 3600

  /// Whether an installation that has proved its secret still has it: it was neither revoked nor replaced since.
  package static func holds(_ proved: Installation, now kept: Installation?) -> Bool {
    kept?.revokedAt == nil && kept?.secret == proved.secret
  }

  /// Whether an installation was neither revoked nor replaced.
  ///
  /// - Parameter made: When the record was made that names it.
  package static func holds(_ named: InstallationIdentity, made: Instant?, now kept: Installation?) -> Bool {
    kept?.revokedAt == nil && kept?.isSame(as: named, made: made) == true
  }

  /// Whether an installation was neither revoked nor replaced, or was replaced by the same owner's for the same app.
  package static func holds(
    _ named: InstallationIdentity, orIsOf owner: InstallationUser, appID: String?, now kept: Installation?
  ) -> Bool {
    guard let kept, kept.revokedAt == nil else { return false }
    return kept.isSame(as: named, made: nil)
      || kept.user == owner && appID.map { kept.appID.hasSameBytes(as: $0) } == true
  }

  /// Takes a counter for the code of a callback.
  package static func count(_ proved: Installation, _ view: InstallationView) -> Step<Int64> {
    guard var installation = view.installation, holds(proved, now: installation) else {
      return refuse(.unknown)
    }
    let counter = installation.codes.counter
    installation.codes.counter = counter.addingClamped(1)
    return (InstallationChange(installation: installation), .success(counter))
  }

  /// Verifies a code by time: its step or one beside it, each step once.
  ///
  /// - Parameter matches: Whether the code is that of a step.
  package static func verify(
    _ terms: InstallationTerms, _ view: InstallationView, at now: Instant,
    matches: (Installation, Int64) -> Bool
  ) -> Step<Bool> {
    guard var installation = view.installation, isInstalled(installation, terms, at: now) else {
      return (InstallationChange(), .success(false))
    }
    if let until = installation.codes.lockedUntil, now < until {
      return refuse(.locked((until - now).wholeSecondsRoundedUp))
    }
    let current = OneTimePassword.step(at: now.seconds)
    let found = (current - 1...current + 1).filter { $0 >= 0 && matches(installation, $0) }
    if let step = found.first(where: { $0 > installation.codes.lastStep }) {
      installation.codes.lastStep = step
      installation.codes.failures = 0
      installation.codes.lockedUntil = nil
      return (InstallationChange(installation: installation), .success(true))
    }
    // A step that was used is no guess.
    guard found.isEmpty else { return (InstallationChange(), .success(false)) }
    installation.codes.failures += 1
    let over = installation.codes.failures - mostFailures
    if over >= 0 {
      let seconds = min(longestLock, firstLock << min(over, 10))
      installation.codes.lockedUntil = now.advanced(by: .seconds(seconds))
    }
    return (InstallationChange(installation: installation), .success(false))
  }
}
