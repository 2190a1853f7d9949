// `POST /fetch-code`: enrols an installation and gives it codes.

import API
import Callers
import Configuration
import Deciding
import Delivery
import Gate
package import HTTP
package import HTTPServer
import Installations
import JOSE
import JSON
import Platform
import Records
import Responses
import Serving
import Store
import Trust

/// One request for a code on its way.
struct FetchingCode: Sendable {
  let client: ClientRequest
  var record: AuditRecord
  /// The one use of the attestation's challenge, and what the address took with it. A response of 503 gives them back, but
  /// not a decoding that Google has done.
  var challenge: [AllowanceReceipt] = []
  /// What was judged of the headers, until it is counted.
  var judged = Handlers.Judged()
  /// What was judged of the attestation in the body, until it is counted.
  var attested: AuditedAttestation?
}

/// The checked content of a request for a code.
struct RequestedCode: Sendable {
  let request: FetchCodeRequest
  let service: InstallationService
  let app: App
  let terms: InstallationTerms
  /// The user by whose fresh JWT the request came.
  let user: Caller?
  let facts: Facts
  /// The attestation that holds; nil where none does, or none is judged.
  var held: HeldAttestation?
  /// The proof of a key in the header, if the request may need one.
  var keyProof = ProofVerifier.Judgement.absent
  /// Whether the user's JWT has taken the one use of that proof.
  var isKeyProofSpent = false

  /// Whether the attestation alone authorizes the installation.
  var isByAttestation: Bool { terms.isByAttestation && user == nil }
}

extension FetchingCode: AuditedWork {
  var needsContent: Bool { true }

  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep {
    var work = self
    let next = handlers.read(request, &work, circumstances)
    // What waits for something else is judged again. What goes on beside the loop counts at its end.
    if case .respond = next { handlers.count(work) }
    return next
  }
}

extension Handlers {
  /// `POST /fetch-code`
  package func fetchCode(_ request: borrowing Request, _ exchange: inout Exchange) {
    let client = client(request, exchange)
    perform(FetchingCode(client: client, record: client.record(of: .enrol)), request, &exchange)
  }

  /// Counts what was judged of a request, once.
  fileprivate func count(_ work: FetchingCode) {
    let metrics = work.generation.metrics
    if let proof = work.judged.proof { metrics.proved(proof, lane: work.lane) }
    for attestation in [work.judged.attestation, work.attested].compactMap(\.self) {
      metrics.attested(attestation, lane: work.lane)
    }
  }

  // MARK: On the loop

  fileprivate func read(
    _ request: borrowing Request, _ work: inout FetchingCode, _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    var caller: Caller?
    // No credential is needed. A wrong one never counts as none.
    if request.value(of: .authorization) != nil || request.value(of: .xAPIKey) != nil {
      let outcome = work.generation.authenticator.authenticate(request, circumstances, &work.judged.proof)
      work.record.proof = work.judged.proof
      switch outcome {
      case .first(let prerequisite): return .first(prerequisite)
      case .refused(let problem): return .respond(refuse(work, problem))
      case .caller(let known): if known.proof == .jwt { caller = known }
      }
    }
    switch attest(request, &work, circumstances) {
    case .passed: break
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem): return .respond(refuse(work, problem))
    }
    do throws(Problem) {
      var requested = try requested(request, &work, caller, circumstances)
      try judgeProof(request, &requested, &work, circumstances)
      if let keys = try judge(&requested, &work, circumstances) { return .first(.appCheckKeys(keys)) }
      guard work.mayWait else { throw .tooManyWaiting }
      return .later { [self, work, requested] in $0.respond(await answer(work, requested)) }
    } catch {
      return .respond(refuse(work, error))
    }
  }

  /// Judges the token of App Check of a request for an app that demands one.
  private func attest(
    _ request: borrowing Request, _ work: inout FetchingCode, _ circumstances: Authenticator.Circumstances
  ) -> Attested {
    let generation = work.generation
    guard let verifier = generation.appCheck,
      let app = generation.namedApp(request.queryItem("app")), let terms = app.appCheck
    else { return .passed }
    work.record.app = app.id
    defer { work.record.attestation = work.judged.attestation }
    return attest(request, terms, verifier, circumstances, &work.judged)
  }

  /// The kill switch, the app and the content.
  private func requested(
    _ request: borrowing Request, _ work: inout FetchingCode, _ caller: Caller?,
    _ circumstances: Authenticator.Circumstances
  ) throws(Problem) -> RequestedCode {
    let generation = work.generation
    work.record.caller = caller?.audited
    let app: App?
    let terms: InstallationTerms?
    do throws(Problem) {
      (app, terms) = try generation.appWithInstallations(named: request.queryItem("app"))
    } catch {
      try checkStops(&work, Self.unread, appID: nil)
      throw error
    }
    work.record.app = app?.id
    try checkStops(&work, Self.unread, appID: app?.id)
    let isForm = try JSONContent.isForm(
      type: request.value(of: .contentType).map { [head = request.head] in head[$0] },
      encodings: request.values(of: .contentEncoding).map { [head = request.head] in head[$0] })
    let asked: FetchCodeRequest
    do throws(Problem) {
      asked = try FetchCodeRequest(
        parsing: request.content, isForm: isForm, query: request.queryNames, terms?.key)
    } catch {
      var problem = error
      if app == nil, problem.code == .invalidRequest { problem.add(Problem.appNeeded.fields) }
      throw problem
    }
    guard let app else { throw .appNeeded }
    work.record.installation = asked.client.id.description
    guard let terms, let service = generation.installationService else {
      throw Problem(.denied, "This app has no installations.")
    }
    // Where users do not authorize, a token counts as none.
    let signedIn = terms.authorize.contains(.user) ? caller : nil
    try checkStops(&work, asked.form == .first ? signedIn?.id : Caller.installationID, appID: app.id)
    var user: Caller?
    if asked.form == .first, let caller = signedIn {
      try caller.requireFreshToken(at: circumstances.time)
      guard generation.decider.apps.lists(caller.id, for: app) else {
        throw Problem(.denied, "This caller is not listed for this app.")
      }
      user = caller
    }
    if user == nil { work.record.caller = nil }
    guard asked.form != .first || user != nil || terms.makesUsers else {
      throw .signInFirst
    }
    let facts = generation.facts(
      .enrol, user, claims: asked.client.claims(beside: user?.claims ?? []), appID: app.id,
      address: circumstances.address, request, at: circumstances.time)
    return RequestedCode(request: asked, service: service, app: app, terms: terms, user: user, facts: facts)
  }

  /// Judges the proof of a key: of a first request's here, of others' when the store has said which key they need.
  private func judgeProof(
    _ request: borrowing Request, _ requested: inout RequestedCode, _ work: inout FetchingCode,
    _ circumstances: Authenticator.Circumstances
  ) throws(Problem) {
    guard requested.request.form != .first || requested.request.key != nil else { return }
    requested.keyProof = work.generation.authenticator.proofs.judge(request, circumstances)
    if case .limited(let wait) = requested.keyProof { throw .tooManyLogins(wait) }
    requested.isKeyProofSpent = circumstances.proof?.spending != nil
    if requested.request.form == .first, let key = requested.request.key {
      _ = try verified(requested.keyProof, by: key, &work)
    }
  }

  /// The proof in the header, if the key made it.
  private func verified(
    _ judgement: ProofVerifier.Judgement, by key: SHA256Digest, _ work: inout FetchingCode
  ) throws(Problem) -> VerifiedProof {
    switch judgement {
    case .absent: try noteProof(.missing, &work)
    case .failed(let fault): try noteProof(.failed(fault), &work)
    case .limited(let wait): throw .tooManyLogins(wait)
    case .verified(let proof):
      if proof.key == key { return proof }
      try noteProof(.failed(.otherKey), &work)
    }
    preconditionFailure("a proof that does not hold is refused")
  }

  /// Notes the result for a proof, for the audit line and the metric.
  ///
  /// - Throws: The response to a proof that does not hold.
  private func noteProof(_ result: ProofResult, _ work: inout FetchingCode) throws(Problem) {
    work.record.proof = result
    work.judged.proof = result
    if let problem = work.generation.authenticator.proofs.problem(result, at: clock.unixTime) {
      throw problem
    }
  }

  /// The caller of a request whose content, which names it, is not read yet: no caller has this id.
  private static let unread = ""

  private func checkStops(_ work: inout FetchingCode, _ callerID: String?, appID: String?) throws(Problem) {
    if let stop = work.generation.decider.stops.stop(for: .enrol, callerID: callerID, appID: appID) {
      work.record.reason = stop.auditReason
      throw .stopped
    }
  }

  // MARK: Beside the loop

  private func answer(_ work: FetchingCode, _ requested: RequestedCode) async -> PreparedResponse {
    var work = work
    defer { count(work) }
    do throws(Problem) {
      switch requested.request.form {
      case .first: return try await enrol(&work, requested)
      case .poll(let requestID): return try await poll(&work, requested, requestID)
      case .code(let secret): return try await code(&work, requested, secret)
      }
    } catch {
      // A client that has gone spends its challenge.
      if !Task.isCancelled, error.code.status == .serviceUnavailable {
        await work.generation.decider.ledger.giveBack(work.challenge, at: Instant(clock.unixTime))
      }
      return refuse(work, error)
    }
  }

  /// Takes the one use of a proof, which the key must have made.
  ///
  /// - Parameter isKnown: Whether the installation has proved its secret. Each proof is a row of the store for three minutes, so others
  ///   have a limit for their address.
  private func prove(
    _ key: SHA256Digest, _ work: inout FetchingCode, _ requested: RequestedCode, isKnown: Bool = false
  ) async throws(Problem) {
    let proof = try verified(requested.keyProof, by: key, &work)
    guard !requested.isKeyProofSpent else { return }
    if !isKnown {
      _ = try await take(.proofs, of: work.address, work, or: "This address has sent too many proofs.")
    }
    try noteProof(await work.generation.spend(proof, at: clock.unixTime).result, &work)
    if isKnown {
      work.generation.authenticator.proofs.succeeded(proof, address: work.address, now: clock.now)
    }
  }

  /// The first request: the rules, and then the user's installation or a request that waits for an operator.
  private func enrol(_ work: inout FetchingCode, _ requested: RequestedCode) async throws(Problem)
    -> PreparedResponse
  {
    let decider = work.generation.decider
    let key = requested.request.key
    if let key { try await prove(key, &work, requested) }
    var requested = requested
    let spent = try await spend(&work, &requested)
    var receipts = spent
    if requested.user == nil, !requested.isByAttestation {
      do throws(Problem) {
        receipts += try await take(
          .enrolments, of: work.address, work, or: "This address has asked for too many installations.")
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
      work.record.verdicts = decider.policy.skipped
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
      do throws(InstallationService.Failure) {
        if let user = requested.user {
          let new = try await requested.service.install(
            grant, requested.request.client, requested.terms, user: user.owner, key: key,
            address: work.address, attestedKey: requested.held?.key)
          // Its line names the user who authorized it.
          return installed(&work, new, requested.service, by: work.record.caller)
        }
        if requested.isByAttestation {
          precondition(requested.held != nil, "only an attestation that holds gets here")
          let new = try await requested.service.install(
            grant, requested.request.client, requested.terms, replacing: requested.request.replacing,
            key: key, address: work.address, attestedKey: requested.held?.key)
          return installed(&work, new, requested.service, by: Caller.audited(new.installation))
        }
        let opened = try await requested.service.open(
          grant, requested.request.client, requested.terms, key: key, address: work.address,
          attestedKey: requested.held?.key)
        audit.append(work.record, since: work.start, lane: work.lane)
        return PreparedResponse(
          InstallationDocument.pending(
            requestID: opened.requestID, userCode: opened.userCode, until: opened.expiresAt,
            at: Instant(clock.unixTime)))
      } catch {
        if case .refused(.keyInUse) = error { note(.failed(.keyInUse), of: .appAttest, &work) }
        // What was refused has cost work; what failed is given back.
        if case .refused = error { receipts = receipts.filter { !AddressLimit.enrolments.isReceipt($0) } }
        await decider.ledger.giveBack(receipts, at: Instant(clock.unixTime))
        throw problem(error, work)
      }
    }
  }

  /// Takes one of what an address may do.
  ///
  /// - Parameter words: What it has done too often.
  private func take(
    _ limit: AddressLimit, of address: IPAddress, _ work: FetchingCode, or words: String
  ) async throws(Problem) -> [AllowanceReceipt] {
    let now = Instant(clock.unixTime)
    switch await work.generation.decider.ledger.take([limit.charge(address)], at: now).outcome {
    case .taken(let receipts): return receipts
    case .refused(_, let states):
      let denial = limit.denial(states, at: now)
      throw Problem(
        .rateLimited, "\(words) Retry after the time in Retry-After.",
        retryAfter: denial.retryAfter.map { Int(clamping: $0) })
    case .unavailable:
      throw Problem(StoreError(.unavailable, "enrol", "no store"))
    }
  }

  /// Runs a step that strangers could use to guess. From an address that guesses, the step waits for a turn: a right value passes, and
  /// a wrong one gets 429.
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
      [key]
      () async throws(InstallationService.Failure) in
      try await requested.service.poll(client, appID: appID, requestID: requestID, key: key)
    }
    switch poll {
    // A poll that has to wait decides nothing, and has no audit line.
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
    audit.append(work.record, since: work.start, lane: work.lane)
    let code = requested.service.codes.code(installation, at: clock.unixTime.seconds)
    return PreparedResponse(InstallationDocument.code(code, secret: nil))
  }

  /// Writes the record of a delivered secret, before it leaves, and makes its answer.
  private func installed(
    _ work: inout FetchingCode, _ new: NewInstallation, _ service: InstallationService,
    by caller: AuditedCaller?
  ) -> PreparedResponse {
    work.record.caller = caller
    audit.append(work.record, since: work.start, lane: work.lane)
    let code = service.codes.code(new.installation, at: clock.unixTime.seconds)
    return PreparedResponse(InstallationDocument.code(code, secret: new.secret))
  }

  private func problem(_ failure: InstallationService.Failure, _ work: FetchingCode) -> Problem {
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

extension Generation {
  /// The app that a request for an installation is for; nil where it names none, or one that does not exist.
  fileprivate func namedApp(_ name: Request.QueryItem) -> App? {
    do throws(Problem) { return try appWithInstallations(named: name).app } catch { return nil }
  }

  /// The app that a request for an installation names, or the one app with installations; and its terms, if it has some. Of
  /// several it is the sandbox's sample, if that is there.
  func appWithInstallations(named name: Request.QueryItem) throws(Problem) -> (
    app: App?, terms: InstallationTerms?
  ) {
    let terms = installations?.terms ?? [:]
    switch name {
    case .absent:
      let id = terms.count == 1 ? terms.first?.key : configuration.enrolmentApp
      guard let id, let terms = terms[id] else { return (nil, nil) }
      return (decider.apps[id], terms)
    case .value(let id):
      guard let app = decider.apps[id] else { throw .noApp }
      return (app, terms[id])
    case .malformed: throw .noApp
    }
  }
}
