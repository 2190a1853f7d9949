// The part of `POST /fetch-code` that runs off the event loop: uses the proof, evaluates the rules, and
// returns the installation or its code.

import API
import Callers
import Configuration
import Deciding
import Delivery
import Gate
import HTTP
import HTTPServer
import Installations
import JOSE
import JSON
import Platform
import Records
import Responses
import Serving
import Store
import Trust

extension Handlers {
  func answer(_ work: FetchingCode, _ requested: RequestedCode) async -> PreparedResponse {
    var work = work
    defer { count(work) }
    do throws(Problem) {
      switch requested.request.form {
      case .first:
        let response = try await enrol(&work, requested)
        await conclude(work)
        return response
      case .poll(let requestID): return try await poll(&work, requested, requestID)
      case .code(let secret): return try await code(&work, requested, secret)
      }
    } catch {
      await conclude(work, error)
      return refuse(work, error)
    }
  }

  /// Gives back the request's passes and, after a 503, its challenge. `enrol` decides about the other
  /// charges. If the outcome is in doubt, this gives back nothing: the enrollment may have been made, and a
  /// retry then finds it.
  private func conclude(_ work: FetchingCode, _ problem: Problem? = nil) async {
    guard !work.isInDoubt else { return }
    // A client that has left loses its challenge. After a 503, one request may use the challenge again. The
    // pass is given back too: otherwise it would let a second request in.
    let isAgain = !Task.isCancelled && problem?.code.status == .serviceUnavailable
    await work.generation.decider.ledger.giveBack(
      isAgain ? work.challenge + work.passes : work.passes, at: Instant(clock.unixTime))
  }

  /// Checks that the key made the proof, and uses the proof up.
  ///
  /// - Parameter isKnown: Whether the installation has proved its secret. The store needs a row for each
  ///   proof for three minutes, so other proofs are limited per address.
  private func prove(
    _ key: SHA256Digest, _ work: inout FetchingCode, _ requested: RequestedCode, isKnown: Bool = false
  ) async throws(Problem) {
    let proof = try verified(requested.keyProof, by: key, &work)
    guard !requested.isKeyProofSpent else { return }
    if !isKnown {
      _ = try await take(.proofs, of: work.address, work, or: "Too many proofs came from this address.")
    }
    try noteProof(await work.generation.spend(proof, at: clock.unixTime).result, &work)
    if isKnown {
      work.generation.authenticator.proofs.succeeded(proof, address: work.address, now: clock.now)
    }
  }

  /// Handles a first request: evaluates the rules, then makes an installation that a user or the
  /// attestation authorizes, or an enrollment that waits for an operator.
  private func enrol(_ work: inout FetchingCode, _ requested: RequestedCode) async throws(Problem)
    -> PreparedResponse
  {
    let decider = work.generation.decider
    let key = requested.request.key
    if let key { try await prove(key, &work, requested) }
    var requested = requested
    let spent: [AllowanceReceipt]
    switch try await spend(&work, &requested) {
    case .taken(let receipts): spent = receipts
    case .made(let made): return try await answer(&work, requested, made)
    }
    var receipts = spent
    let repeatable = requested.held == nil ? nil : requested.repeatable(since: work.repeats)
    if requested.user == nil, !requested.isByAttestation {
      do throws(Problem) {
        receipts += try await take(
          .enrolments, of: work.address, work, or: "Too many installations were requested from this address.")
      } catch {
        await decider.ledger.giveBack(spent, at: Instant(clock.unixTime))
        throw error
      }
    }
    let ruling: Ruling
    do throws(Problem) {
      ruling = try await decider.ruling(
        requested.facts, taking: true,
        deadline: work.start + work.generation.configuration.tokens.deadline)
    } catch {
      await decider.ledger.giveBack(receipts, at: Instant(clock.unixTime))
      throw error
    }
    (work.record.verdicts, work.record.reason) = (ruling.verdicts, ruling.reason)
    switch ruling.concluded() {
    case .refused(let denial):
      logRefusal(denial, of: requested.facts, by: decider.policy, work.context)
      await decider.ledger.giveBack(spent, at: Instant(clock.unixTime))
      throw Problem(denial)
    case .granted(let grant):
      receipts += grant.receipts
      do throws(Problem) { try await intend(work.record) } catch {
        await decider.ledger.giveBack(receipts, at: Instant(clock.unixTime))
        throw error
      }
      // A repetition of the request takes these again. The single use of an App Check token stays taken, with
      // everything that was taken together with it.
      var again = receipts
      if case .appCheck = requested.held { again.removeFirst(spent.count) }
      let giveBack = { @Sendable [again, clock, ledger = decider.ledger] () async in
        await ledger.giveBack(again, at: Instant(clock.unixTime))
      }
      do throws(InstallationService.Failure) {
        if let user = requested.user {
          let new = try await requested.service.install(
            grant, requested.request.client, requested.terms, user: user.owner, key: key,
            address: work.address, attestedKey: requested.held?.key, repeatable, onNotMade: giveBack)
          await rememberNumber(of: user, for: new.installation, work.generation)
          // The audit line names the user who authorized the installation.
          return installed(&work, new, requested.service, by: work.record.caller)
        }
        if requested.isByAttestation {
          precondition(requested.held != nil, "only an attestation that holds gets here")
          let new = try await requested.service.install(
            grant, requested.request.client, requested.terms, replacing: requested.request.replacing,
            key: key, address: work.address, attestedKey: requested.held?.key, repeatable,
            onNotMade: giveBack)
          return installed(&work, new, requested.service, by: Caller.audited(new.installation))
        }
        let opened = try await requested.service.open(
          grant, requested.request.client, requested.terms, key: key, address: work.address,
          attestedKey: requested.held?.key, repeatable, onNotMade: giveBack)
        return self.opened(opened, work)
      } catch {
        if case .store(let error) = error, error.isInDoubt {
          work.isInDoubt = true
          throw problem(.store(error), work)
        }
        if case .refused(.keyInUse) = error { note(.failed(.keyInUse), of: .appAttest, &work) }
        // A refused enrollment has caused work, so the charge for its address stays taken. After other
        // failures everything is given back.
        if case .refused = error { receipts = receipts.filter { !AddressLimit.enrolments.isReceipt($0) } }
        await decider.ledger.giveBack(receipts, at: Instant(clock.unixTime))
        throw problem(error, work)
      }
    }
  }

  /// Answers a repetition with what the first request made. Takes no charges and evaluates no rules.
  private func answer(
    _ work: inout FetchingCode, _ requested: RequestedCode, _ made: InstallationService.Earlier
  ) async throws(Problem) -> PreparedResponse {
    if let attestation = requested.request.attestation { note(.passed, of: attestation.type, &work) }
    try await intend(work.record)
    switch made {
    case .installed(let new):
      let caller = requested.user == nil ? Caller.audited(new.installation) : work.record.caller
      return installed(&work, new, requested.service, by: caller)
    case .opened(let opened): return self.opened(opened, work)
    }
  }

  /// Writes the audit line of an enrollment that waits for an operator, and makes the response.
  private func opened(_ opened: OpenedEnrolment, _ work: FetchingCode) -> PreparedResponse {
    audit.append(work.record, since: work.start, lane: work.lane)
    return PreparedResponse(
      InstallationDocument.pending(
        requestID: opened.requestID, userCode: opened.userCode, until: opened.expiresAt,
        at: Instant(clock.unixTime)))
  }

  /// Takes one request from the limit of an address.
  ///
  /// - Parameter words: The problem's text if the limit is reached.
  private func take(
    _ limit: AddressLimit, of address: IPAddress, _ work: FetchingCode, or words: String
  ) async throws(Problem) -> [AllowanceReceipt] {
    let now = Instant(clock.unixTime)
    switch await work.generation.decider.ledger.take([limit.charge(address)], at: now).outcome {
    case .taken(let receipts): return receipts
    case .refused(_, let states):
      let denial = limit.denial(states, at: now)
      throw Problem(
        .rateLimited, words,
        tryAgainAfter: denial.retryAfter.map { Int(clamping: $0) })
    case .unavailable:
      throw Problem(StoreError(.unavailable, "enrol", "no store"))
    }
  }

  /// Runs a step in which strangers could try to guess a secret. If too many wrong secrets came from the
  /// address or for the installation, the step waits for its turn, for at most five seconds; without a turn,
  /// the request is refused. A correct secret then succeeds, and a wrong one gets 429.
  private func guarded<Success: Sendable>(
    _ work: FetchingCode, _ client: InstallationClient, secret: String,
    _ step: () async throws(InstallationService.Failure) -> Success
  ) async throws(Problem) -> Success {
    let throttle = work.generation.authenticator.throttle
    let identity = Array(client.id.description.utf8)
    let credential = LoginThrottle.Credential(digest: SHA256Digest(of: Array(secret.utf8)))
    let wait = throttle.wait(
      address: work.address, identity: identity, credential: credential, now: clock.now)
    if wait != nil, let service = work.generation.installationService,
      await !service.directory.waitForGuardedTurn(work.address, deadline: clock.now + .seconds(5))
    {
      throw .tooManyWaiting
    }
    do throws(InstallationService.Failure) {
      let success = try await step()
      throttle.succeeded(address: work.address, credential: credential, now: clock.now)
      return success
    } catch {
      guard case .refused(.invalidClient) = error else { throw problem(error, work) }
      throttle.failed(address: work.address, identity: identity, now: clock.now)
      if let wait { throw .tooManyLogins(wait) }
      throw problem(error, work)
    }
  }

  private func poll(
    _ work: inout FetchingCode, _ requested: RequestedCode, _ requestID: String
  ) async throws(Problem) -> PreparedResponse {
    let (client, appID) = (requested.request.client, requested.app.id)
    var key: SHA256Digest?
    if requested.terms.key != .off {
      key = try await guarded(work, client, secret: requestID) {
        () async throws(InstallationService.Failure) in
        try await requested.service.key(ofRequest: requestID, client, appID: appID)
      }
      if let key { try await prove(key, &work, requested) }
    }
    let poll = try await guarded(work, client, secret: requestID) {
      [key, strict = audit.strict, intent = AuditIntent(work.record)]
      () async throws(InstallationService.Failure) in
      try await requested.service.poll(
        client, appID: appID, requestID: requestID, key: key,
        recording: strict.map { strict in { await strict.intends(intent) } })
    }
    switch poll {
    // A poll that is still pending decides nothing, and has no audit line.
    case .pending(let userCode, let expiresAt):
      return PreparedResponse(
        InstallationDocument.pending(
          requestID: requestID, userCode: userCode, until: expiresAt, at: Instant(clock.unixTime)))
    case .delivered(let new):
      return installed(&work, new, requested.service, by: Caller.audited(new.installation))
    }
  }

  private func code(
    _ work: inout FetchingCode, _ requested: RequestedCode, _ secret: String
  ) async throws(Problem) -> PreparedResponse {
    let installation = try await guarded(work, requested.request.client, secret: secret) {
      () async throws(InstallationService.Failure) in
      try await requested.service.authenticate(
        requested.request.client, appID: requested.app.id, secret: secret, requested.terms)
    }
    work.record.caller = Caller.audited(installation)
    if let key = installation.key {
      try await prove(key, &work, requested, isKnown: true)
    } else if requested.terms.key != .off {
      try noteProof(requested.terms.key == .required ? .failed(.noKey) : .keyless, &work)
    }
    try await intend(work.record)
    audit.append(work.record, since: work.start, lane: work.lane)
    let code = requested.service.codes.code(installation, at: clock.unixTime.seconds)
    return PreparedResponse(InstallationDocument.code(code, secret: nil))
  }

  /// Writes the audit line of a delivered secret, before the secret is sent, and makes the response.
  private func installed(
    _ work: inout FetchingCode, _ new: NewInstallation, _ service: InstallationService,
    by caller: AuditedCaller?
  ) -> PreparedResponse {
    work.record.caller = caller
    if new.cancelled > 0 { work.record.cancelled = new.cancelled }
    audit.append(work.record, since: work.start, lane: work.lane)
    let code = service.codes.code(new.installation, at: clock.unixTime.seconds)
    return PreparedResponse(InstallationDocument.code(code, secret: new.secret))
  }

  func problem(_ failure: InstallationService.Failure, _ work: FetchingCode) -> Problem {
    if case .store(let error) = failure {
      callbacks.log.storeFailed(error, doing: "enrol", work.context)
    }
    if case .refused(.noProof) = failure,
      let problem = work.generation.authenticator.proofs.problem(.missing, at: clock.unixTime)
    {
      return problem
    }
    return Problem(failure)
  }
}
