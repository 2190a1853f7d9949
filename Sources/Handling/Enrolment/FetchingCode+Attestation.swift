// Judges the attestation of a first request for an installation, and takes what it may be used for.

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

/// An attestation that holds.
enum HeldAttestation: Sendable {
  /// A token of App Check, by its SHA-256.
  case appCheck(SHA256Digest)
  /// An attestation of App Attest, by the name of its key.
  case appAttest(SHA256Digest)
  /// A token of Play Integrity, which its challenge makes good once.
  case playIntegrity

  /// The key that the installation is bound to.
  var key: SHA256Digest? { if case .appAttest(let key) = self { key } else { nil } }
}

extension Handlers {
  /// Judges what can be judged on the loop: tokens of App Check, and whether there is an attestation at all.
  ///
  /// - Returns: The keys to fetch before it can be judged.
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
      // It is counted when the store has seen whether it was used.
      guard result != .passed else {
        requested.held = .appCheck(SHA256Digest(of: octets))
        return nil
      }
    case .appAttest:
      // It is verified beside the loop, once its challenge is taken.
      if terms.appAttest != nil { return nil }
    case .playIntegrity:
      // The same, by Google.
      if terms.play != nil { return nil }
    case nil: break
    }
    try conclude(result, requested, &work)
    return nil
  }

  /// What comes of the one use of an attestation.
  enum Spending: Sendable {
    /// It is taken. A refusal gives these back; a challenge stays spent.
    case taken([AllowanceReceipt])
    /// The same request has used it before, and has made this.
    case made(InstallationService.Earlier)
  }

  /// Takes the one use of an attestation, and what an installation takes that it alone authorizes.
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
        // The first request took the use with what else it needed, or a certain 503 has given that back.
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
        // A token that Google has judged is used up here, too: otherwise it would be sent, and Google asked, again and again.
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

  /// How long a request with the same content counts as one that the first one's client has sent twice. It then waits for the first
  /// one's answer: if that is certain, the use is spent.
  private static let patience = Duration.seconds(2)

  /// When the first request with this content came, if its answer was in doubt or a 503.
  ///
  /// - Parameters:
  ///   - state: Of the pass, as it was a moment ago.
  ///   - isTaken: Whether the use is taken. A certain 503 has given it back.
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

  /// What the first request with the same content has made; nil for a first request.
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

  /// Has Google consume a token of App Check, if it has to.
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

  /// Verifies an attestation of App Attest. Each costs a challenge, so that nobody makes the server verify for nothing.
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

  /// Has Google decode a token of Play Integrity, and judges its verdict. Each costs a challenge, since Google's quota is small.
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
    // Google has counted what it has answered, whatever comes later.
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

  /// Takes the one use of a challenge, and one of what its address may do. A repetition has taken that use before.
  ///
  /// - Returns: Whether the attestation may be judged.
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
      // Where attestations are only counted, no request is refused.
      guard requested.app.attested?.mode == .enforce else { return .unavailable(.quota) }
      let denial = limit.denial([states[index]], at: Instant(now))
      throw Problem(
        .rateLimited, "Too many attestations came from this address.",
        tryAgainAfter: denial.retryAfter.map { Int(clamping: $0) })
    case .unavailable: throw Problem(StoreError(.unavailable, "enrol", "no store"))
    }
  }

  /// Notes a result for the audit line and the metric, and refuses where the app's terms do.
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
  /// For how long Google is not asked about an attestation; nil where it is asked, or not needed.
  fileprivate func rest(after result: AttestationResult, of attestation: AttestationEvidence?) -> Duration? {
    switch attestation {
    case .appCheck: result == .unavailable(.keys) ? appCheck?.keys.rest : consumer?.service.status.rest
    case .playIntegrity: play?.decoder.service.status.rest
    case .appAttest, nil: nil
    }
  }
}
