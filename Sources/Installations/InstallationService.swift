// Runs enrollments, revocations and codes as transactions of the store.

package import Gate
package import JOSE
package import Platform
package import Store
import Synchronization
import Texts

/// The response values of an enrollment request that waits for an operator.
package struct OpenedEnrolment: Sendable {
  /// The ID for polls: 24 bytes in base64url. The store has only its SHA-256.
  package let requestID: String
  /// The code that the customer reads to the operator, with its hyphen.
  package let userCode: String
  package let expiresAt: Instant

  init(_ enrolment: Enrolment, requestID: String) {
    self.requestID = requestID
    userCode = UserCode.shown(enrolment.userCode)
    expiresAt = enrolment.expiresAt
  }
}

/// An installation and its new secret. The server does not save the secret.
package struct NewInstallation: Sendable {
  package let installation: Installation
  /// 32 bytes in base64url.
  package let secret: String
  /// The number of appointments that ended with the replaced installation.
  package let cancelled: Int
}

/// Follow-up work on appointments after an installation ended.
package struct InstallationConsequences: Sendable {
  let receipts: ReceiptReader
  let complete: @Sendable ([EndedAppointment]) -> Void
  let findOut: @Sendable (InstallationID, @escaping @Sendable () async throws(StoreError) -> Void) -> Void

  /// - Parameters:
  ///   - receipts: Reads the allowances that an appointment gives back.
  ///   - complete: Completes appointments that the store has ended.
  ///   - findOut: Runs a step in the background, and retries it until it does not throw.
  package init(
    receipts: @escaping ReceiptReader, complete: @escaping @Sendable ([EndedAppointment]) -> Void,
    findOut:
      @escaping @Sendable (
        InstallationID, @escaping @Sendable () async throws(StoreError) -> Void
      ) -> Void
  ) {
    self.receipts = receipts
    self.complete = complete
    self.findOut = findOut
  }
}

/// All operations on installations. All state is in the store, so any instance may do any step.
package struct InstallationService: Sendable {
  private let store: any InstallationStore & AppointmentStore
  package let directory: InstallationDirectory
  package let codes: InstallationCodes
  /// The counts for metrics.
  package let counts = CurrentCounts()
  private let clock: any TimeSource
  private let consequences: InstallationConsequences

  package init(
    store: any InstallationStore & AppointmentStore, directory: InstallationDirectory,
    codes: InstallationCodes, clock: any TimeSource, _ consequences: InstallationConsequences
  ) {
    self.store = store
    self.directory = directory
    self.codes = codes
    self.clock = clock
    self.consequences = consequences
  }

  /// The reason why a step failed.
  package enum Failure: Error, Sendable {
    case refused(InstallationRefusal)
    case store(StoreError)
    /// OpenSSL could not generate random bytes.
    case random(OpenSSLError)
    /// Strict mode could not write the audit line that must come before the step.
    case unrecorded
  }

  private var now: Instant { Instant(clock.unixTime) }

  /// - Parameter isSeen: Whether the step changes values that authentication reads.
  private func change<Success: Sendable>(
    _ scope: InstallationScope, isSeen: Bool = true,
    _ step: @escaping @Sendable (InstallationView, Instant) -> Enrolling.Step<Success>
  ) async throws(Failure) -> Success { try await outcome(scope, isSeen: isSeen, step).result }

  /// The change and result of a transaction that was committed, or may have been.
  private struct Made<Success: Sendable>: Sendable {
    let change: InstallationChange
    let result: Result<Success, InstallationRefusal>
  }

  /// Called with the outcome of a change in doubt: nil if the change was not made. Not called if that cannot
  /// be determined.
  private typealias OnCertain<Success: Sendable> = @Sendable (InstallationOutcome<Success>?) async -> Void

  /// - Parameter onCertain: Called later, if this throws an error that leaves the change in doubt.
  private func outcome<Success: Sendable>(
    _ scope: InstallationScope, isSeen: Bool = true, onCertain: @escaping OnCertain<Success> = { _ in },
    _ step: @escaping @Sendable (InstallationView, Instant) -> Enrolling.Step<Success>
  ) async throws(Failure) -> InstallationOutcome<Success> {
    let now = now
    let last = LastOutcome<Made<Success>>()
    let outcome: InstallationOutcome<Made<Success>>
    do throws(StoreError) {
      outcome = try await store.change(
        scope, at: now, receipts: consequences.receipts, onOutcome: { last.value = $0 },
        { view in
          let (change, result) = step(view, now)
          return (change, Made(change: change, result: result))
        })
    } catch {
      if isSeen { directory.forget(scope.id) }
      if error.isInDoubt, isSeen { findOut(scope.id, last, at: now, onCertain) }
      throw .store(error)
    }
    if isSeen { directory.forget(scope.id) }
    consequences.complete(outcome.ended)
    switch outcome.result.result {
    case .success(let success): return InstallationOutcome(success, ended: outcome.ended)
    case .failure(let refusal): throw .refused(refusal)
    }
  }

  /// Checks in the background whether a change in doubt was made, and completes it if so.
  private func findOut<Success: Sendable>(
    _ id: InstallationID, _ last: LastOutcome<Made<Success>>, at now: Instant,
    _ onCertain: @escaping OnCertain<Success>
  ) {
    consequences.findOut(id) { [store, directory, consequences] () async throws(StoreError) in
      let certain = try await store.certainInstallation(id)
      directory.forget(id)
      guard let outcome = last.value, case .success(let success) = outcome.result.result else {
        return await onCertain(nil)
      }
      let change = outcome.result.change
      var isMade: Bool?
      if let intended = change.installation {
        isMade = Self.isMade(intended, certain)
        if isMade != true, let ended = outcome.ended.first {
          // The installation was enrolled again since. Its ended appointments show whether the change was
          // made.
          isMade = try await store.certainRecord(ended.record.id)?.settledAt == now
        }
      } else if let opened = change.enrolment {
        isMade = try await store.changeInstallation(
          InstallationScope(id, request: opened.request, takes: false), at: now
        ) { (InstallationChange(), $0.enrolment?.createdAt == opened.createdAt) }
      }
      switch isMade {
      case true?:
        consequences.complete(outcome.ended)
        await onCertain(InstallationOutcome(success, ended: outcome.ended))
      case false?: await onCertain(nil)
      case nil: break
      }
    }
  }

  /// Whether a change led to the current record of an installation; nil if a later change may have replaced
  /// it.
  private static func isMade(_ intended: Installation, _ certain: Installation?) -> Bool? {
    guard let certain, certain.generation >= intended.generation else { return false }
    guard certain.generation == intended.generation else {
      // The later generation has the same secret, so a retry of the same request made it. A retry does that
      // only if the first attempt made nothing.
      return certain.secret == intended.secret ? false : nil
    }
    // An installation that was created may have been revoked since.
    return certain.secret == intended.secret
      && (intended.revokedAt == nil || certain.revokedAt == intended.revokedAt)
  }

  /// The last outcome of a transaction, which may run more than once.
  private final class LastOutcome<Value: Sendable>: Sendable {
    private let outcome = Mutex<InstallationOutcome<Value>?>(nil)

    var value: InstallationOutcome<Value>? {
      get { outcome.withLock { $0 } }
      set { outcome.withLock { $0 = newValue } }
    }
  }

  private func random(_ count: Int) throws(Failure) -> String {
    do throws(OpenSSLError) { return Base64URL.encode(try RandomBytes.make(count)) } catch {
      throw .random(error)
    }
  }

  // MARK: Enrolling

  /// The result of an earlier request.
  package enum Earlier: Sendable {
    case installed(NewInstallation)
    case opened(OpenedEnrolment)
  }

  /// The result of an earlier request with the same content; nil if it made nothing, or if its result was
  /// revoked or replaced since.
  package func earlier(
    _ client: InstallationClient, _ request: RepeatableRequest
  ) async throws(Failure) -> Earlier? {
    let found: Installation?
    do throws(StoreError) { found = try await directory.look(client.id)?.installation } catch {
      throw .store(error)
    }
    if let found, found.revokedAt == nil, let secret = request.secrets.text(of: found) {
      return .installed(NewInstallation(installation: found, secret: secret, cancelled: 0))
    }
    for requestID in request.values.map(\.requestID) {
      let digest = SHA256Digest(of: Array(requestID.utf8))
      let opened = try await change(
        InstallationScope(client.id, request: digest, takes: false), isSeen: false
      ) { view, _ in (InstallationChange(), .success(view.enrolment)) }
      if let opened { return .opened(OpenedEnrolment(opened, requestID: requestID)) }
    }
    return nil
  }

  /// Saves an enrollment request that waits for an operator. Consumes a grant to enroll.
  ///
  /// - Parameters:
  ///   - repeatable: The request, if it may be repeated.
  ///   - onNotMade: Called later, if this throws an error that leaves the change in doubt, and nothing was
  ///     saved.
  package func open(
    _ grant: consuming Grant, _ client: InstallationClient, _ terms: InstallationTerms, key: SHA256Digest?,
    address: IPAddress, attestedKey: SHA256Digest? = nil, _ repeatable: RepeatableRequest? = nil,
    onNotMade: @escaping @Sendable () async -> Void = {}
  ) async throws(Failure) -> OpenedEnrolment {
    let appID = Self.app(of: grant)
    let requestID = if let first = repeatable?.values.first { first.requestID } else { try random(24) }
    let request = SHA256Digest(of: Array(requestID.utf8))
    // Two live codes are equal about once in a few million requests.
    while true {
      let userCode: String
      do throws(OpenSSLError) { userCode = try UserCode.make() } catch { throw .random(error) }
      let now = self.now
      let expiresAt = now.advanced(by: terms.pending)
      let enrolment = Enrolment(
        request: request, client: client, appID: appID, userCode: userCode, address: address.description,
        createdAt: now, expiresAt: expiresAt, forgottenAt: expiresAt.advanced(by: terms.pending),
        answeredAt: now, state: .pending, attestedKey: attestedKey, key: key)
      let opening = try await outcome(
        InstallationScope(
          client.id, request: request, userCode: userCode, attestedKey: attestedKey, key: key),
        onCertain: { if $0 == nil { await onNotMade() } },
        { view, _ in Enrolling.open(enrolment, view) })
      if case .opened(let opened) = opening.result { return OpenedEnrolment(opened, requestID: requestID) }
    }
  }

  /// The result of a poll.
  package enum Poll: Sendable {
    case pending(userCode: String, expiresAt: Instant)
    case delivered(NewInstallation)
  }

  /// The thumbprint of the key of an enrollment request; nil if it has no key. Changes nothing.
  package func key(
    ofRequest requestID: String, _ client: InstallationClient, appID: String
  ) async throws(Failure) -> SHA256Digest? {
    let request = SHA256Digest(of: Array(requestID.utf8))
    return try await change(InstallationScope(client.id, request: request, takes: false), isSeen: false) {
      view, _ in
      guard let kept = view.enrolment, kept.client == client, kept.appID.hasSameBytes(as: appID) else {
        return (InstallationChange(), .failure(.invalidClient))
      }
      return (InstallationChange(), .success(kept.key))
    }
  }

  /// Answers a poll.
  ///
  /// - Parameters:
  ///   - key: The thumbprint of the key that the poll proved; nil for none.
  ///   - record: Writes an audit line that the secret is about to be delivered. Returns whether the line is
  ///     on the disk. Nil outside strict mode.
  package func poll(
    _ client: InstallationClient, appID: String, requestID: String, key: SHA256Digest?,
    recording record: (() async -> Bool)? = nil
  ) async throws(Failure) -> Poll {
    let secret = try random(32)
    let digest = SHA256Digest(of: Array(secret.utf8))
    let request = SHA256Digest(of: Array(requestID.utf8))
    var attestedKey: SHA256Digest?
    var isRecorded = record == nil
    while true {
      let poll = try await outcome(
        InstallationScope(client.id, request: request, attestedKey: attestedKey, key: key)
      ) { [attestedKey, isRecorded] view, now in
        Enrolling.poll(
          client, appID: appID, secret: digest, locked: attestedKey, proven: key, isRecorded: isRecorded,
          view,
          at: now)
      }
      switch poll.result {
      case .ready:
        guard await record?() == true else { throw .unrecorded }
        isRecorded = true
      case .needs(let needed): attestedKey = needed
      case .pending(let enrolment):
        return .pending(userCode: UserCode.shown(enrolment.userCode), expiresAt: enrolment.expiresAt)
      case .delivered(let installation):
        return .delivered(
          NewInstallation(installation: installation, secret: secret, cancelled: poll.ended.count))
      }
    }
  }

  /// Creates a signed-in user's installation. Consumes a grant to enroll.
  ///
  /// - Parameter onNotMade: Called later, if this throws an error that leaves the change in doubt, and no
  ///   installation was made.
  package func install(
    _ grant: consuming Grant, _ client: InstallationClient, _ terms: InstallationTerms,
    user: InstallationUser, key: SHA256Digest?,
    address: IPAddress, attestedKey: SHA256Digest? = nil, _ repeatable: RepeatableRequest? = nil,
    onNotMade: @escaping @Sendable () async -> Void = {}
  ) async throws(Failure) -> NewInstallation {
    let appID = Self.app(of: grant)
    let secrets = try secrets(repeatable)
    let counted = InstallationScope.CountedUser(
      user, appID: appID, usedSince: now.advanced(by: .zero - terms.idle))
    let installed = try await outcome(
      InstallationScope(client.id, user: counted, attestedKey: attestedKey, key: key),
      onCertain: { if $0 == nil { await onNotMade() } },
      { view, now in
        Enrolling.install(
          client, appID: appID, user: user, address: address.description, secrets: secrets.digests,
          since: secrets.since, key: key, attestedKey: attestedKey, terms, view, at: now)
      })
    return Self.new(installed, secrets)
  }

  private func secrets(_ repeatable: RepeatableRequest?) throws(Failure) -> InstallationSecrets {
    if let repeatable { return repeatable.secrets }
    return InstallationSecrets([try random(32)])
  }

  private static func new(
    _ installed: InstallationOutcome<Installation>, _ secrets: InstallationSecrets
  ) -> NewInstallation {
    guard let secret = secrets.text(of: installed.result) else {
      preconditionFailure("an installation with another secret")
    }
    return NewInstallation(installation: installed.result, secret: secret, cancelled: installed.ended.count)
  }

  /// Creates the installation of a phone whose app is genuine. Consumes a grant to enroll.
  ///
  /// - Parameters:
  ///   - old: The secret of the active installation to replace; nil for none.
  ///   - key: The thumbprint of the key that was proved; nil for none.
  ///   - repeatable: The request, if it may be repeated.
  ///   - onNotMade: Called later, if this throws an error that leaves the change in doubt, and no
  ///     installation was made.
  package func install(
    _ grant: consuming Grant, _ client: InstallationClient, _ terms: InstallationTerms,
    replacing old: String?, key: SHA256Digest?, address: IPAddress, attestedKey: SHA256Digest? = nil,
    _ repeatable: RepeatableRequest? = nil, onNotMade: @escaping @Sendable () async -> Void = {}
  ) async throws(Failure) -> NewInstallation {
    let appID = Self.app(of: grant)
    let secrets = try secrets(repeatable)
    let replaced = old.map { SHA256Digest(of: Array($0.utf8)) }
    let installed = try await outcome(
      InstallationScope(client.id, attestedKey: attestedKey, key: key),
      onCertain: { if $0 == nil { await onNotMade() } },
      { view, now in
        Enrolling.install(
          client, appID: appID, replacing: replaced, address: address.description, secrets: secrets.digests,
          since: secrets.since, key: key, attestedKey: attestedKey, terms, view, at: now)
      })
    return Self.new(installed, secrets)
  }

  /// Whether another active installation has this App Attest key. The final step checks this again.
  package func isTaken(_ attestedKey: SHA256Digest, besides id: InstallationID) async throws(Failure) -> Bool
  {
    try await change(InstallationScope(id, attestedKey: attestedKey, takes: false), isSeen: false) {
      view, _ in
      (InstallationChange(), .success(view.isAttestedKeyTaken))
    }
  }

  private static func app(of grant: borrowing Grant) -> String {
    guard grant.action == .enrol, let appID = grant.appID else {
      preconditionFailure("an enrolment needs a grant to enrol for an app")
    }
    return appID
  }

  /// Returns the installation with these values and this secret, or refuses the client.
  package func authenticate(
    _ client: InstallationClient, appID: String, secret: String, _ terms: InstallationTerms
  ) async throws(Failure) -> Installation {
    let digest = SHA256Digest(of: Array(secret.utf8))
    let found: Installation?
    do throws(StoreError) { found = try await directory.look(client.id)?.installation } catch {
      throw .store(error)
    }
    guard let found, found.secret == digest, found.client == client, found.appID.hasSameBytes(as: appID),
      Enrolling.isInstalled(found, terms, at: now)
    else { throw .refused(.invalidClient) }
    directory.used(found, terms)
    return found
  }

  // MARK: Operators

  /// Finds the unexpired request that has this user code: waiting, approved or denied.
  package func find(userCode: String) async throws(Failure) -> Enrolment {
    let found: Enrolment?
    do throws(StoreError) {
      found = try await store.enrolment(userCode: userCode, at: now)
    } catch {
      throw .store(error)
    }
    guard let found else { throw .refused(.unknown) }
    return found
  }

  /// Approves or denies the request that has this user code.
  @discardableResult
  package func judge(
    _ judgement: Enrolling.Judgement, userCode: String, by operator: Operator.Identity
  ) async throws(Failure) -> Enrolment {
    let found = try await find(userCode: userCode)
    return try await change(InstallationScope(found.client.id, request: found.request, takes: false)) {
      view, now in
      Enrolling.judge(judgement, by: `operator`, view, at: now)
    }
  }

  /// The installation that the delivery of a request would replace; nil if there is none.
  package func replaced(by enrolment: Enrolment) async throws(Failure) -> Installation? {
    do throws(StoreError) {
      return try await store.installation(enrolment.client.id).flatMap { $0.revokedAt == nil ? $0 : nil }
    } catch {
      throw .store(error)
    }
  }

  /// The result of a revocation.
  package struct Revocation: Sendable {
    /// The revoked installation; nil if there were only requests.
    package let installation: Installation?
    /// The number of appointments that ended.
    package let cancelled: Int

    fileprivate init(_ outcome: InstallationOutcome<Enrolling.Revoked>) {
      installation =
        switch outcome.result {
        case .installation(let installation), .before(let installation): installation
        case .requests: nil
        }
      cancelled = outcome.ended.count
    }
  }

  /// Revokes an installation, and ends its appointments and the requests for it.
  ///
  /// - Parameters:
  ///   - only: The identity (ID and generation) that a phone proved; nil for an operator. If another
  ///     generation has replaced it, nothing changes.
  ///   - onFound: Called later with the revocation, if this throws an error that leaves the change in doubt,
  ///     and the installation was revoked. Not called if there were only requests to end.
  @discardableResult
  package func revoke(
    _ id: InstallationID, only: InstallationIdentity? = nil,
    onFound: @escaping @Sendable (Revocation) -> Void = { _ in }
  ) async throws(Failure) -> Revocation {
    let outcome = try await outcome(
      InstallationScope(id, countsLive: true, takes: false),
      onCertain: { if let made = $0 { onFound(Revocation(made)) } },
      { view, now in Enrolling.revoke(view, only: only, at: now) })
    if case .installation(let installation) = outcome.result, let revokedAt = installation.revokedAt {
      // If this fails, the next revocation gets the same response as this one.
      do throws(StoreError) { try await store.confirmRevocation(id, at: revokedAt) } catch {}
    }
    return Revocation(outcome)
  }

  /// The installations of a subject, for every issuer, that are not revoked or whose revocation is not
  /// confirmed.
  package func installations(subject: String) async throws(Failure) -> [InstallationID] {
    do throws(StoreError) { return try await store.installations(subject: subject, at: now) } catch {
      throw .store(error)
    }
  }

  /// A page of the operators' list.
  package func list(_ query: InstallationQuery) async throws(StoreError) -> InstallationPage {
    try await store.installations(query)
  }

  // MARK: Upkeep

  /// Saves the times of last use each second, and counts installations every ten seconds, less often if there
  /// are very many, until the task is canceled. Then saves the times of last use once more. The store's
  /// health shows a failure, and the next turn tries again.
  package func keepCounted() async {
    var nextCount = clock.now
    repeat {
      do throws(StoreError) { try await directory.saveUses() } catch {}
      if clock.now >= nextCount {
        let begun = clock.now
        do throws(StoreError) { counts.latest = try await store.installationCounts(at: now) } catch {}
        nextCount = begun + RowCounts.pause(after: counts.latest.map { $0[.active] + $0[.revoked] } ?? 0)
      }
    } while await clock.hasSlept(until: clock.now + .seconds(1))
    do throws(StoreError) { try await directory.saveUses() } catch {}
  }

  // MARK: Codes

  /// The code that proves to a callback's agent that the phone is this installation. Each call uses the next
  /// counter.
  package func callbackCode(_ installation: Installation) async throws(Failure) -> String {
    let counter = try await change(InstallationScope(installation.client.id), isSeen: false) { view, _ in
      Enrolling.count(installation, view)
    }
    return codes.callbackCode(installation, counter: counter)
  }

  /// Whether a code is valid for the installation now. Each code is accepted once.
  ///
  /// - Parameters:
  ///   - callerID: The caller that verifies the code. The step is refused as `denied` if the app does not
  ///     list the caller as a verifier.
  ///   - terms: Returns the terms of an app.
  package func verify(
    _ code: String, of id: InstallationID, by callerID: String,
    terms: @escaping @Sendable (String) -> InstallationTerms?
  ) async throws(Failure) -> Bool {
    try await change(InstallationScope(id)) { [codes] view, now in
      guard let kept = view.installation, let terms = terms(kept.appID) else {
        return (InstallationChange(), .success(false))
      }
      guard terms.verifiers.contains(exactly: callerID) else {
        return (InstallationChange(), .failure(.denied))
      }
      return Enrolling.verify(terms, view, at: now) { installation, step in
        codes.isCode(code, of: installation, step: step)
      }
    }
  }
}

/// The latest counts of installations, for metrics.
package final class CurrentCounts: Sendable {
  private let counts = Mutex<InstallationCounts?>(nil)

  /// The latest counts; nil before the first count.
  package internal(set) var latest: InstallationCounts? {
    get { counts.withLock { $0 } }
    set { counts.withLock { $0 = newValue } }
  }
}
