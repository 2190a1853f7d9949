// `POST /fetch-code`: enrolls an installation, and returns its codes.

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

/// A request for a code, from its start to its response.
struct FetchingCode: Sendable {
  let client: ClientRequest
  var record: AuditRecord
  /// The receipts for the attestation's challenge and the limit of the client's address. A 503 whose outcome
  /// is certain gives them back, except the receipt of the limit once Google has answered.
  var challenge: [AllowanceReceipt] = []
  /// The receipts of passes, which let the same request use its challenge or token again. They are given back
  /// with every response, unless the outcome is in doubt.
  var passes: [AllowanceReceipt] = []
  /// The time of the first request with this content, if its outcome was in doubt or it got a 503.
  /// Otherwise nil.
  var repeats: Instant?
  /// Whether the enrollment may have been made although it has failed.
  var isInDoubt = false
  /// The results for the headers, until they are counted.
  var judged = Handlers.Judged()
  /// The result for the attestation in the body, until it is counted.
  var attested: AuditedAttestation?
}

/// The checked content of a request for a code.
struct RequestedCode: Sendable {
  let request: FetchCodeRequest
  /// The digest of the content, if that has an attestation.
  let content: SHA256Digest?
  let service: InstallationService
  let app: App
  let terms: InstallationTerms
  /// The user whose fresh JWT authorizes the request; nil without one.
  let user: Caller?
  let facts: Facts
  /// The valid attestation; nil if none is valid, or none was verified.
  var held: HeldAttestation?
  /// The proof of a key in the header, if the request may need one.
  var keyProof = ProofVerifier.Judgement.absent
  /// Whether authenticating the user's JWT has already used up that proof.
  var isKeyProofSpent = false

  /// Whether the attestation alone authorizes the installation.
  var isByAttestation: Bool { terms.isByAttestation && user == nil }

  /// The values by which a repetition of the request is recognized, because its attestation works only
  /// once. Nil without an attestation.
  ///
  /// - Parameter since: The time of the first request with this content; nil if this is the first.
  func repeatable(since: Instant?) -> RepeatableRequest? {
    content.map { service.codes.repeatable($0, appID: app.id, owner: user?.owner, since: since) }
  }
}

extension FetchingCode: AuditedWork {
  var needsContent: Bool { true }

  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep {
    var work = self
    let next = handlers.read(request, &work, circumstances)
    // A request that waits for a prerequisite begins again. A request that continues off the loop is counted
    // at its end.
    if case .respond = next { handlers.count(work) }
    return next
  }
}

extension Handlers {
  /// `POST /fetch-code`
  package func fetchCode(_ request: borrowing Request, _ exchange: inout Exchange) {
    let client = client(request, exchange)
    var record = client.record(of: .enrol)
    record.verdicts = client.generation.decider.policy.skipped
    perform(FetchingCode(client: client, record: record), request, &exchange)
  }

  /// Counts the results for a request's proof and attestations. Call it once for each request.
  func count(_ work: FetchingCode) {
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
    // No credential is needed, but a wrong one is refused instead of being ignored.
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
      if circumstances.isEarly {
        _ = try target(request, &work, caller)
        try JSONContent.checkLength(request, atMost: FetchCodeRequest.contentBytes)
        return .content
      }
      var requested = try requested(request, &work, caller, circumstances)
      try judgeProof(request, &requested, &work, circumstances)
      if let keys = try judge(&requested, &work, circumstances) { return .first(.appCheckKeys(keys)) }
      guard work.mayWait else { throw .tooManyWaiting }
      return .later { [self, work, requested] in $0.respond(await answer(work, requested)) }
    } catch {
      return .respond(refuse(work, error))
    }
  }

  /// Verifies the App Check token in the header, if the app has App Check terms.
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

  /// Checks the kill switch, the app and the content type. Returns the app, its terms, and whether the
  /// content is a form.
  private func target(
    _ request: borrowing Request, _ work: inout FetchingCode, _ caller: Caller?
  ) throws(Problem) -> (app: App?, terms: InstallationTerms?, isForm: Bool) {
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
    guard app == nil || terms != nil && generation.installationService != nil else {
      throw Problem(.denied, "This app has no installations.")
    }
    return (app, terms, try JSONContent.isForm(request))
  }

  /// Checks the kill switch, the app and the content.
  private func requested(
    _ request: borrowing Request, _ work: inout FetchingCode, _ caller: Caller?,
    _ circumstances: Authenticator.Circumstances
  ) throws(Problem) -> RequestedCode {
    let generation = work.generation
    let (app, terms, isForm) = try target(request, &work, caller)
    let asked: FetchCodeRequest
    do throws(Problem) {
      asked = try FetchCodeRequest(
        parsing: request.content, isForm: isForm, query: request.queryMembers.map(\.name), terms?.key)
    } catch {
      var problem = error
      if app == nil, problem.code == .invalidRequest { problem.add(Problem.appNeeded.fields) }
      throw problem
    }
    guard let app else { throw .appNeeded }
    work.record.installation = asked.client.id.description
    guard let terms, let service = generation.installationService else {
      preconditionFailure("an app without installations got past its head")
    }
    // If users cannot authorize installations of the app, their tokens are ignored.
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
    return RequestedCode(
      request: asked, content: asked.attestation.map { _ in SHA256Digest(of: request.content) },
      service: service, app: app, terms: terms, user: user, facts: facts)
  }

  /// Verifies the proof of a key. A first request names the key that must have made the proof. For other
  /// requests, the store returns that key later.
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

  /// The proof in the header. Throws unless it is valid and the key made it.
  func verified(
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
  /// - Throws: The problem of an invalid proof.
  func noteProof(_ result: ProofResult, _ work: inout FetchingCode) throws(Problem) {
    work.record.proof = result
    work.judged.proof = result
    if let problem = work.generation.authenticator.proofs.problem(result, at: clock.unixTime) {
      throw problem
    }
  }

  /// The caller's ID in checks before the content is read, because the content decides who the caller is.
  /// No caller has this ID.
  private static let unread = ""

  private func checkStops(_ work: inout FetchingCode, _ callerID: String?, appID: String?) throws(Problem) {
    guard work.generation.decider.stops.isKnown else { throw .stopsUnknown }
    if let stop = work.generation.decider.stops.stop(for: .enrol, callerID: callerID, appID: appID) {
      work.record.reason = stop.auditReason
      throw .stopped
    }
  }
}

extension Generation {
  /// The app of a request for an installation; nil if the request names an unknown app, or none and there is
  /// no default.
  fileprivate func namedApp(_ name: Request.QueryItem) -> App? {
    do throws(Problem) { return try appWithInstallations(named: name).app } catch { return nil }
  }

  /// The app that a request for an installation names, with its terms, if it has any. Without a name: the
  /// only app with installations, or else the configuration's `enrolmentApp`, if that has installations.
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
