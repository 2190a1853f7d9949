// Verifies the attestation in a first request for an installation, and uses it up, because each attestation
// works only once.

import API
import AskingGoogle
import Callers
import Deciding
import Gate
import Installations
import JOSE
import Platform
import Records
import Responses
import Serving
import Store
import Trust

extension RequestedCode {
  /// The digest of the content, in hex.
  fileprivate var digestText: String { content.map { Hex.encode($0.bytes) } ?? "" }
}

/// A valid attestation.
enum HeldAttestation: Sendable {
  /// An App Check token: the token's SHA-256.
  case appCheck(SHA256Digest)
  /// An App Attest attestation: the id of its key.
  case appAttest(SHA256Digest)
  /// A Play Integrity token. Its challenge limits it to a single use.
  case playIntegrity

  /// The App Attest key to which the installation is bound; nil for other attestations.
  var key: SHA256Digest? { if case .appAttest(let key) = self { key } else { nil } }
}

extension Handlers {
  /// Verifies what needs no wait: App Check tokens, and whether there is an attestation at all.
  ///
  /// - Returns: The keys to fetch before the token can be verified; nil if none are needed.
  func judge(
    _ requested: inout RequestedCode, _ work: inout FetchingCode, _ circumstances: Authenticator.Circumstances
  ) throws(Problem) -> KeySource? {
    guard requested.request.form == .first, let terms = requested.app.attested else { return nil }
    var result = AttestationResult.missing
    switch requested.request.attestation {
    case .appCheck(let token):
      guard let own = terms.appCheck, let verifier = work.generation.appCheck else { break }
      let octets = Array(token.utf8)
      switch verifier.judge(
        octets.span, for: own, fetched: circumstances.hasFetchedAppCheckKeys, time: circumstances.time,
        now: circumstances.now)
      {
      case .fetchFirst(let keys): return keys
      case .judged(let judged): result = judged
      }
      // A valid token is counted later, once the store knows whether it was used before.
      guard result != .passed else {
        requested.held = .appCheck(SHA256Digest(of: octets))
        return nil
      }
    case .appAttest:
      // This attestation is verified off the event loop, once the challenge is taken.
      if terms.appAttest != nil { return nil }
    case .playIntegrity:
      // Google verifies this attestation, also off the event loop.
      if terms.play != nil { return nil }
    case nil: break
    }
    try conclude(result, requested, &work)
    return nil
  }

  /// The result of using up an attestation.
  enum Spending: Sendable {
    /// The attestation is used up, or the request needs none. If the request is refused, these receipts are
    /// given back; a challenge stays used.
    case taken([AllowanceReceipt])
    /// An earlier request with the same content used the attestation, and made this.
    case made(InstallationService.Earlier)
  }

  /// Verifies an attestation that needs a wait, and uses it up. If the attestation alone authorizes the
  /// installation, also counts it toward the daily limits of the app and the address.
  func spend(
    _ work: inout FetchingCode, _ requested: inout RequestedCode
  ) async throws(Problem) -> Spending {
    guard let terms = requested.app.attested else { return .taken([]) }
    if case .appAttest(let evidence) = requested.request.attestation, let own = terms.appAttest {
      var result = try await takeChallenge(evidence.challenge, requested, &work)
      if let made = try await earlier(work, requested) { return .made(made) }
      if result == .passed { result = try await judge(evidence, own, requested, work.generation) }
      guard result == .passed, let key = SHA256Digest(evidence.keyID) else {
        try conclude(result, requested, &work)
        return .taken([])
      }
      requested.held = .appAttest(key)
    }
    if case .playIntegrity(let evidence) = requested.request.attestation, let own = terms.play {
      var result = try await takeChallenge(evidence.challenge, requested, &work, and: .decodings)
      if let made = try await earlier(work, requested) { return .made(made) }
      if result == .passed { result = try await judge(evidence, own, requested, &work) }
      guard result == .passed else {
        try conclude(result, requested, &work)
        return .taken([])
      }
      requested.held = .playIntegrity
    }
    var charges: [AllowanceCharge] = []
    switch requested.held {
    case .appCheck(let token):
      let digest = Hex.encode(token.bytes)
      charges += [
        AttestationLimits.charge(token: digest),
        AttestationLimits.pass(digest, request: requested.digestText),
      ]
    case .appAttest, .playIntegrity: break
    case nil: return .taken([])
    }
    if requested.isByAttestation {
      charges += AttestationLimits.charges(app: requested.app.id, perDay: terms.perDay, work.address)
    }
    let now = Instant(clock.unixTime)
    let ledger = work.generation.decider.ledger
    var outcome = charges.isEmpty ? .taken([]) : await ledger.take(charges, at: now).outcome
    var wasTaken = false
    if case .refused(let index, let states) = outcome, case .appCheck = requested.held, index < 2 {
      work.repeats = try await firstUse(charges[1], states[1], isTaken: index == 0, ledger)
      if work.repeats != nil {
        if let made = try await earlier(work, requested) { return .made(made) }
        // Either the first request still has the use with everything that it took, or a 503 whose outcome was
        // certain has given all of it back.
        wasTaken = index == 0
        charges = wasTaken ? [] : [charges[0]] + charges.dropFirst(2)
        outcome = charges.isEmpty ? .taken([]) : await ledger.take(charges, at: now).outcome
      }
    }
    switch outcome {
    case .taken(let receipts):
      work.passes += receipts.filter { AttestationLimits.isPass($0.key) }
      let receipts = receipts.filter { !AttestationLimits.isPass($0.key) }
      let result = await consume(work, requested, again: wasTaken)
      guard result == .passed else {
        // A token that Google refused is used up here, too. Otherwise a client could send it again and again,
        // and the server would ask Google each time.
        let isJudged = if case .failed = result { true } else { false }
        await ledger.giveBack(
          receipts.filter { !isJudged || !AttestationLimits.isToken($0.key) }, at: now)
        requested.held = nil
        try conclude(result, requested, &work)
        return .taken([])
      }
      try conclude(.passed, requested, &work)
      return .taken(receipts)
    case .refused(let index, let states):
      let key = charges[index].key
      guard AttestationLimits.isToken(key) || AttestationLimits.isPass(key) else {
        try conclude(.passed, requested, &work)
        let denial = AttestationLimits.denial(charges, index: index, states, at: now)
        throw Problem(
          .rateLimited,
          "The app has reached today's limit of installations by attestation.",
          tryAgainAfter: denial.retryAfter.map { Int(clamping: $0) })
      }
      requested.held = nil
      try conclude(.failed(.replayed), requested, &work)
      return .taken([])
    case .unavailable:
      throw Problem(StoreError(.unavailable, "enrol", "no store"))
    }
  }

  /// The time after the first request in which another request with the same content counts as sent twice
  /// by the client. The second request then waits for the outcome of the first. If that outcome is certain,
  /// the use is spent, and the second request is refused.
  private static let patience = Duration.seconds(2)

  /// The time of the first request with this content, if its outcome was in doubt or it got a 503; otherwise
  /// nil.
  ///
  /// - Parameters:
  ///   - state: The state of the pass, as it was just read.
  ///   - isTaken: Whether the single use is taken. A 503 whose outcome is certain gives it back.
  private func firstUse(
    _ pass: AllowanceCharge, _ state: AllowanceState?, isTaken: Bool, _ ledger: AllowanceLedger
  ) async throws(Problem) -> Instant? {
    let now = Instant(clock.unixTime)
    guard let since = AttestationLimits.passTaken(state, at: now) else { return nil }
    let rest = Self.patience - (now - since)
    guard isTaken, rest > .zero else { return since }
    guard await clock.hasSlept(until: clock.now + rest) else { return nil }
    do throws(StoreError) {
      guard case .state(let state) = try await ledger.states(of: [pass]).lookup(pass.key) else { return nil }
      return AttestationLimits.passTaken(state, at: Instant(clock.unixTime)) == since ? since : nil
    } catch {
      throw Problem(error)
    }
  }

  /// Finds what the first request with the same content made. Nil if it made nothing, or if this request is
  /// the first.
  private func earlier(
    _ work: FetchingCode, _ requested: RequestedCode
  ) async throws(Problem) -> InstallationService.Earlier? {
    guard let since = work.repeats, let repeatable = requested.repeatable(since: since) else { return nil }
    do throws(InstallationService.Failure) {
      return try await requested.service.earlier(requested.request.client, repeatable)
    } catch {
      throw problem(error, work)
    }
  }

  /// Has Google consume an App Check token, if the configuration requires it.
  ///
  /// - Parameter isAgain: Whether the first request with the same content may have had it consumed.
  private func consume(
    _ work: FetchingCode, _ requested: RequestedCode, again isAgain: Bool
  ) async -> AttestationResult {
    guard case .appCheck(let token) = requested.request.attestation, let consumer = work.generation.consumer
    else { return .passed }
    switch await consumer.consume(token) {
    case .success(let wasConsumed): return wasConsumed && !isAgain ? .failed(.replayed) : .passed
    case .failure(.refused): return .failed(.malformed)
    case .failure(.unavailable(let outage)):
      work.generation.metrics.troubles.hit(
        .attestation, AttestationType.appCheck.rawValue, at: clock.unixTime)
      return .unavailable(outage)
    }
  }

  /// Verifies an App Attest attestation. Each verification costs a challenge, so that clients cannot make the
  /// server verify for nothing.
  private func judge(
    _ evidence: AppAttestEvidence, _ terms: AppAttestTerms, _ requested: RequestedCode,
    _ generation: Generation
  ) async throws(Problem) -> AttestationResult {
    guard let policy = generation.appAttest else {
      preconditionFailure("an attested app without a root")
    }
    let client = requested.request.client
    do throws(AttestationFault) {
      try AppAttestation(parsing: evidence.object).verify(
        keyID: evidence.keyID,
        clientDataHash: EnrolmentStatement.digest(
          client, challenge: evidence.challenge, key: requested.request.key),
        terms, policy, now: clock.unixTime.seconds)
    } catch {
      return .failed(error)
    }
    guard let key = SHA256Digest(evidence.keyID) else { return .failed(.wrongKey) }
    do throws(InstallationService.Failure) {
      return try await requested.service.isTaken(key, besides: client.id) ? .failed(.keyInUse) : .passed
    } catch {
      throw Problem(error)
    }
  }

  /// Has Google decode a Play Integrity token, and checks its verdict. Each token costs a challenge, because
  /// Google's quota is small.
  private func judge(
    _ evidence: PlayIntegrityEvidence, _ terms: PlayIntegrityTerms, _ requested: RequestedCode,
    _ work: inout FetchingCode
  ) async throws(Problem) -> AttestationResult {
    guard let play = work.generation.play else { preconditionFailure("an attested app without an account") }
    guard evidence.mayBeToken else { return .failed(.malformed) }
    let hash = EnrolmentStatement.digest(
      requested.request.client, challenge: evidence.challenge, key: requested.request.key)
    let verdict: PlayIntegrityVerdict
    let answer = await play.decoder.verdict(on: evidence.token, of: terms.package)
    // Google counts every request that it answers against the quota, so the charge is not given back even if
    // the server fails later.
    if case .failure(.unavailable) = answer {
    } else {
      work.challenge.removeAll { AddressLimit.decodings.isReceipt($0) }
    }
    switch answer {
    case .success(let decoded): verdict = decoded
    case .failure(.refused): return .failed(.malformed)
    case .failure(.unavailable(let outage)):
      work.generation.metrics.troubles.hit(
        .attestation, AttestationType.playIntegrity.rawValue, at: clock.unixTime)
      return .unavailable(outage)
    }
    do throws(AttestationFault) {
      try verdict.verify(
        requestHash: Base64URL.encode(hash), terms, maximumAge: play.maximumAge, now: clock.unixTime.seconds)
      return .passed
    } catch {
      return .failed(error)
    }
  }

  /// Uses up a challenge, and takes one request from `limit` for the address. In a repetition, the first
  /// request may have used up the challenge already.
  ///
  /// - Returns: `.passed` if the attestation may be verified.
  private func takeChallenge(
    _ challenge: String, _ requested: RequestedCode, _ work: inout FetchingCode,
    and limit: AddressLimit? = nil
  ) async throws(Problem) -> AttestationResult {
    let now = clock.unixTime
    let ledger = work.generation.decider.ledger
    let digest = Hex.encode(SHA256.digest(Array(challenge.utf8)))
    let pass = AttestationLimits.pass(digest, request: requested.digestText)
    let limits = limit.map { [$0.charge(work.address)] } ?? []
    var uses = [AttestationLimits.charge(challenge: digest), pass]
    var outcome = ChargeOutcome.taken([])
    switch requested.service.codes.challenges.standing(
      of: challenge, for: requested.app.id, at: now.seconds)
    {
    case .good: outcome = await ledger.take(uses + limits, at: Instant(now)).outcome
    case .over:
      do throws(StoreError) {
        if case .state(let state) = try await ledger.states(of: [pass]).lookup(pass.key) {
          outcome = .refused(index: 0, states: [nil, state])
        } else {
          return .failed(.badChallenge)
        }
      } catch {
        throw Problem(error)
      }
    case .foreign: return .failed(.badChallenge)
    }
    if case .refused(let index, let states) = outcome, index < uses.count,
      let since = try await firstUse(pass, states[1], isTaken: index == 0, ledger)
    {
      work.repeats = since
      // If the use was given back, it is taken again.
      uses = index == 0 ? [] : [uses[0]]
      outcome = await ledger.take(uses + limits, at: Instant(now)).outcome
    }
    switch outcome {
    case .taken(let receipts):
      work.challenge = receipts.filter { !AttestationLimits.isPass($0.key) }
      work.passes = receipts.filter { AttestationLimits.isPass($0.key) }
      return .passed
    case .refused(let index, let states):
      guard index >= uses.count, let limit else { return .failed(.badChallenge) }
      // If the app only counts attestations, no request is refused.
      guard requested.app.attested?.mode == .enforce else { return .unavailable(.quota) }
      let denial = limit.denial([states[index]], at: Instant(now))
      throw Problem(
        .rateLimited, "Too many attestations came from this address.",
        tryAgainAfter: denial.retryAfter.map { Int(clamping: $0) })
    case .unavailable: throw Problem(StoreError(.unavailable, "enrol", "no store"))
    }
  }

  /// Notes a result for the audit line and the metric, and refuses the request if the app's terms do.
  private func conclude(
    _ result: AttestationResult, _ requested: RequestedCode, _ work: inout FetchingCode
  ) throws(Problem) {
    guard let terms = requested.app.attested else { return }
    note(result, of: requested.request.attestation?.type ?? terms.types.first ?? .appCheck, &work)
    guard terms.mode == .enforce,
      let problem = Problem(
        result, of: terms.types, inBody: true,
        retryAfter: work.generation.rest(after: result, of: requested.request.attestation))
    else { return }
    throw problem
  }

  /// Notes the result for an attestation, for the audit line and the metric.
  func note(_ result: AttestationResult, of type: AttestationType, _ work: inout FetchingCode) {
    work.attested = AuditedAttestation(type: type, result: result)
    work.record.attestation = work.attested
  }
}

extension Generation {
  /// The remaining cool-down before Google is asked about an attestation again; nil if none applies.
  fileprivate func rest(after result: AttestationResult, of attestation: AttestationEvidence?) -> Duration? {
    switch attestation {
    case .appCheck: result == .unavailable(.keys) ? appCheck?.keys.rest : consumer?.service.status.rest
    case .playIntegrity: play?.decoder.service.status.rest
    case .appAttest, nil: nil
    }
  }
}
