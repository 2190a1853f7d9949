// Decides every step of an enrollment from rows of the store. The functions are pure, so that each step can
// run inside a transaction.

package import Gate
package import JOSE
import Platform
package import Store
import Texts

/// The reason why a step is refused.
package enum InstallationRefusal: Error, Hashable, Sendable {
  /// The request or installation is unknown, or the installation is revoked, replaced or unused for too long,
  /// or a value is wrong. The client never learns which.
  case invalidClient
  /// The poll came too early. Retry after this many seconds.
  case slowDown(Int)
  /// An operator denied the request, or the app does not let the caller verify codes.
  case denied
  /// The request has expired or was ended.
  case expired
  /// The secret was delivered already, or what an earlier request with the same content made was revoked or
  /// replaced since.
  case delivered
  /// The user has as many installations as the app allows.
  case tooMany
  /// The ID belongs to an active installation that the request may not replace: one of another user or app,
  /// or one whose secret and key the request does not prove.
  case taken
  /// Another installation uses this App Attest key.
  case keyInUse
  /// Another installation uses this phone key.
  case keyTaken
  /// The request has a key, but the poll does not prove it.
  case noProof
  /// Too many requests wait.
  case full
  /// There is no such request or installation, or it has ended.
  case unknown
  /// Too many wrong codes. Retry after this many seconds.
  case locked(Int)
}

/// The steps of an enrollment.
package enum Enrolling {
  /// The minimum time between two polls of a phone, in seconds.
  package static let interval: Int64 = 5
  /// The maximum number of requests that wait for operators.
  package static let mostPending = 10_000

  package typealias Step<Success> = (change: InstallationChange, result: Result<Success, InstallationRefusal>)

  private static func refuse<Success>(_ refusal: InstallationRefusal) -> Step<Success> {
    (InstallationChange(), .failure(refusal))
  }

  // MARK: Requests

  /// The result of a new request.
  package enum Opening: Hashable, Sendable {
    /// The saved request. For a repeated request, this is the first one.
    case opened(Enrolment)
    /// Another unexpired request has this user code. Generate another one.
    case userCodeTaken
  }

  /// Saves a new request, which waits for an operator.
  package static func open(_ enrolment: Enrolment, _ view: InstallationView) -> Step<Opening> {
    // The same transaction or request runs again, because its response was lost.
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
    /// The secret can be delivered, once the audit log has recorded it.
    case ready
    /// The transaction must also lock this App Attest key.
    case needs(SHA256Digest)
    /// The installation now has the secret of this poll.
    case delivered(Installation)
  }

  /// Answers a poll: the request still waits, or exactly one poll gets the secret.
  ///
  /// - Parameters:
  ///   - secret: SHA-256 of the secret to deliver, if the request is approved.
  ///   - locked: The App Attest key that the transaction has locked; nil for none.
  ///   - proven: The key that the poll proved; nil for none.
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
      // The same transaction runs again, because its response was lost.
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
    // Another request has enrolled the key since this request was opened.
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

  /// An operator's decision on a request.
  package enum Judgement: Sendable { case approve, deny }

  /// Approves a waiting request, or denies one that is waiting or approved. Repeating the same decision
  /// changes nothing.
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

  /// The installation that an earlier request with the same content, or an earlier run of this transaction,
  /// made before its response was lost.
  ///
  /// - Parameters:
  ///   - secrets: SHA-256 of each secret that the earlier request may have issued.
  ///   - since: The time at which the first request with this content arrived; nil if this is the first.
  /// - Returns: The installation, or the refusal `delivered` if it was revoked, or if a later request has
  ///   enrolled the ID since. Nil if the earlier request made no installation.
  private static func repeated(
    _ secrets: [SHA256Digest], since: Instant?, _ view: InstallationView
  ) -> Step<Installation>? {
    guard let kept = view.installation else { return nil }
    if secrets.contains(kept.secret) {
      return kept.revokedAt == nil ? (InstallationChange(), .success(kept)) : refuse(.delivered)
    }
    // A different request came later. This one must not replace its installation.
    if let since, kept.createdAt >= since { return refuse(.delivered) }
    return nil
  }

  /// Creates the installation of a signed-in user, without waiting for an operator.
  ///
  /// - Parameters:
  ///   - secrets: SHA-256 of the new secret, then of the other secrets that an earlier request with the same
  ///     content may have issued.
  ///   - since: The time at which the first request with this content arrived; nil if this is the first.
  package static func install(
    _ client: InstallationClient, appID: String, user: InstallationUser, address: String,
    secrets: [SHA256Digest], since: Instant? = nil, key: SHA256Digest?, attestedKey: SHA256Digest? = nil,
    _ terms: InstallationTerms, _ view: InstallationView, at now: Instant
  ) -> Step<Installation> {
    if let repeated = repeated(secrets, since: since, view) { return repeated }
    guard !view.isAttestedKeyTaken else { return refuse(.keyInUse) }
    var counts = false
    if let kept = view.installation, kept.revokedAt == nil {
      // Refuse this even if the installation is idle: this app's terms do not apply to another app's
      // installation.
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

  /// Creates the installation of a phone whose app is genuine. The installation has no user, as if an
  /// operator had approved it.
  ///
  /// An attestation proves the app. It does not prove that this phone owns the active installation with the
  /// same ID, so replacing that installation requires its secret.
  ///
  /// If that installation has a key, a thief could have its secret alone. So the phone must also prove the
  /// same key.
  ///
  /// - Parameters:
  ///   - old: SHA-256 of the secret in the request; nil for none.
  ///   - secrets: SHA-256 of the new secret, then of the other secrets that an earlier request with the same
  ///     content may have issued.
  ///   - since: The time at which the first request with this content arrived; nil if this is the first.
  ///   - key: The thumbprint of the key that was proved; nil for none.
  package static func install(
    _ client: InstallationClient, appID: String, replacing old: SHA256Digest?, address: String,
    secrets: [SHA256Digest], since: Instant? = nil, key: SHA256Digest?, attestedKey: SHA256Digest? = nil,
    _ terms: InstallationTerms, _ view: InstallationView, at now: Instant
  ) -> Step<Installation> {
    if let repeated = repeated(secrets, since: since, view) { return repeated }
    guard !view.isAttestedKeyTaken else { return refuse(.keyInUse) }
    if let kept = view.installation, kept.revokedAt == nil {
      // This app's terms do not apply to another app's installation.
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
    // A purged installation counts as one earlier delivery.
    let deliveries = before?.operatorDeliveries ?? (view.isIDSpent ? 1 : 0)
    return Installation(
      client: client, appID: appID, user: user, address: address, secret: secret,
      // Never reuse an earlier generation, even if the store has deleted its row.
      generation: max(now.nanosecondsSinceEpoch, (before?.generation ?? 0).addingClamped(1)), createdAt: now,
      usedAt: now, revokedAt: nil, unconfirmedUntil: nil, codes: Installation.CodeState(),
      operatorDeliveries: deliveries + (user == nil ? 1 : 0),
      attestedKey: attestedKey, key: key, by: `operator`)
  }

  // MARK: Validity and revocation

  /// Whether an installation is valid: neither revoked nor unused for too long.
  package static func isInstalled(_ installation: Installation, _ terms: InstallationTerms, at now: Instant)
    -> Bool
  {
    installation.revokedAt == nil && now - installation.usedAt < terms.idle
  }

  /// The time for which a repeated revocation of the same installation succeeds like the first: by the phone
  /// itself, and by operators if the first revocation was not confirmed.
  static let repetition = Duration.seconds(3600)

  /// The result of a revocation.
  package enum Revoked: Hashable, Sendable {
    case installation(Installation)
    /// An earlier revocation already ended the installation.
    case before(Installation)
    /// Only requests were ended.
    case requests
  }

  /// Revokes an installation, and ends all requests for its ID, including approved ones.
  ///
  /// - Parameter only: The identity (ID and generation) that a phone proved; nil for an operator.
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
      // The phone's first revocation ended all requests of that time. Its repetition must not end later ones,
      // with which the phone enrolls again.
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

  /// The number of wrong codes in a row that locks an installation.
  static let mostFailures: Int64 = 5
  /// The length of the first lock, in seconds. Each further wrong code doubles it.
  static let firstLock: Int64 = 30
  /// The length of the longest lock, in seconds.
  static let longestLock: Int64 = 3600

  /// Whether an installation that proved its secret still has it, because it was neither revoked nor replaced
  /// since.
  package static func holds(_ proved: Installation, now kept: Installation?) -> Bool {
    kept?.revokedAt == nil && kept?.secret == proved.secret
  }

  /// Whether an installation was neither revoked nor replaced.
  ///
  /// - Parameter made: The time at which the record that names the installation was created.
  package static func holds(_ named: InstallationIdentity, made: Instant?, now kept: Installation?) -> Bool {
    kept?.revokedAt == nil && kept?.isSame(as: named, made: made) == true
  }

  /// Whether an installation was neither revoked nor replaced, or was replaced by an installation of the same
  /// owner for the same app.
  package static func holds(
    _ named: InstallationIdentity, orIsOf owner: InstallationUser, appID: String?, now kept: Installation?
  ) -> Bool {
    guard let kept, kept.revokedAt == nil else { return false }
    return kept.isSame(as: named, made: nil)
      || kept.user == owner && appID.map { kept.appID.hasSameBytes(as: $0) } == true
  }

  /// Uses the next counter for the code of a callback.
  package static func count(_ proved: Installation, _ view: InstallationView) -> Step<Int64> {
    guard var installation = view.installation, holds(proved, now: installation) else {
      return refuse(.unknown)
    }
    let counter = installation.codes.counter
    installation.codes.counter = counter.addingClamped(1)
    return (InstallationChange(installation: installation), .success(counter))
  }

  /// Verifies a time-based code. Accepts the current step and the steps before and after it, but only a step
  /// later than the last accepted one. So each code works once.
  ///
  /// - Parameter matches: Whether the code belongs to the given step.
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
    // A repeated code is not a guess, so it does not count as a failure.
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
