// Authenticates a request, and verifies its App Check token if its app uses App Check.

package import API
package import Callers
package import HTTP
import Platform
package import Records
import Serving
package import Trust

/// The receiver of the results of identifying a request: an audit record, or nil. It is a protocol so that
/// an audit record is changed in place instead of being copied for each request.
package protocol IdentityNotes {
  mutating func note(_ proof: ProofResult)
  mutating func note(_ attestation: AuditedAttestation)
  /// Notes a refused request whose caller is known.
  mutating func note(refused caller: AuditedCaller, app: String?)
}

extension AuditRecord: IdentityNotes {
  package mutating func note(_ proof: ProofResult) { self.proof = proof }
  package mutating func note(_ attestation: AuditedAttestation) { self.attestation = attestation }
  package mutating func note(refused caller: AuditedCaller, app: String?) {
    self.caller = caller
    self.app = app
  }
}

extension AuditRecord?: IdentityNotes {
  package mutating func note(_ proof: ProofResult) { self?.note(proof) }
  package mutating func note(_ attestation: AuditedAttestation) { self?.note(attestation) }
  package mutating func note(refused caller: AuditedCaller, app: String?) {
    self?.note(refused: caller, app: app)
  }
}

extension Handlers {
  /// Authenticates a request, and verifies its App Check token if the app's terms apply.
  ///
  /// App Check comes right after authentication, so that strangers cause neither verifications nor fetches,
  /// and before the kill switch and the rules.
  ///
  /// - Parameters:
  ///   - name: The app's name in the request, if any.
  ///   - record: Receives the results for proof and attestation, and for a refusal by App Check the caller
  ///     and the app.
  package func identify(
    _ request: borrowing Request, app name: Request.QueryItem, for client: ClientRequest,
    _ circumstances: Authenticator.Circumstances, _ record: inout some IdentityNotes
  ) -> Authenticator.Outcome {
    var judged = Judged()
    var outcome = client.generation.authenticator.authenticate(request, circumstances, &judged.proof)
    if let verifier = client.generation.appCheck, case .caller(let caller) = outcome,
      let (app, terms) = client.generation.appCheckTerms(named: name, by: caller)
    {
      switch attest(request, terms, verifier, circumstances, &judged) {
      case .passed: break
      case .first(let prerequisite): outcome = .first(prerequisite)
      case .refused(let problem):
        record.note(refused: caller.audited, app: app?.id)
        outcome = .refused(problem)
      }
    }
    if outcome.isResult(circumstances) { note(judged, of: client, &record) }
    return outcome
  }

  /// Authenticates a request to which no App Check terms apply. Counts and notes the result for its proof.
  package func authenticate(
    _ request: borrowing Request, for client: ClientRequest, _ circumstances: Authenticator.Circumstances,
    _ record: inout some IdentityNotes
  ) -> Authenticator.Outcome {
    var judged = Judged()
    let outcome = client.generation.authenticator.authenticate(request, circumstances, &judged.proof)
    if outcome.isResult(circumstances) { note(judged, of: client, &record) }
    return outcome
  }

  /// Counts the results for a request's proof and attestation, and notes them in the record. A request that
  /// is evaluated again counts once.
  package func note(
    _ judged: Judged, of client: ClientRequest, _ record: inout some IdentityNotes
  ) {
    if let proof = judged.proof {
      record.note(proof)
      if client.round == 0 { client.generation.metrics.proved(proof, lane: client.lane) }
    }
    if let attestation = judged.attestation {
      record.note(attestation)
      if client.round == 0 { client.generation.metrics.attested(attestation, lane: client.lane) }
    }
  }

  /// The results for the proof and the attestation in a request's headers.
  package struct Judged {
    package var proof: ProofResult?
    package var attestation: AuditedAttestation?

    package init() {}
  }

  /// The result of applying an app's App Check terms to a request.
  package enum Attested {
    case passed
    case first(Authenticator.Prerequisite)
    case refused(Problem)
  }

  /// Verifies the App Check token in a request's header.
  package func attest(
    _ request: borrowing Request, _ terms: AppCheckTerms, _ verifier: AppCheckVerifier,
    _ circumstances: Authenticator.Circumstances, _ judged: inout Judged
  ) -> Attested {
    let result: AttestationResult
    switch request.count(of: .xFirebaseAppCheck) {
    case 0: result = .missing
    case 1:
      guard let range = request.value(of: .xFirebaseAppCheck) else { preconditionFailure("it was counted") }
      let outcome = verifier.judge(
        request.head.span.extracting(range), for: terms, fetched: circumstances.hasFetchedAppCheckKeys,
        time: circumstances.time, now: circumstances.now)
      switch outcome {
      case .fetchFirst(let keys): return .first(.appCheckKeys(keys))
      case .judged(let known): result = known
      }
    // With several tokens, different readers would pick different ones.
    default: result = .failed(.malformed)
    }
    judged.attestation = AuditedAttestation(type: .appCheck, result: result)
    guard terms.mode == .enforce,
      let problem = Problem(result, of: [.appCheck], retryAfter: verifier.keys.rest)
    else { return .passed }
    return .refused(problem)
  }
}

extension Authenticator.Outcome {
  /// Whether the outcome is final, so that the request is not authenticated again.
  fileprivate func isResult(_ circumstances: Authenticator.Circumstances) -> Bool {
    switch self {
    case .caller: !circumstances.isEarly
    case .first: false
    case .refused: true
    }
  }
}

extension Problem {
  /// The problem of an attestation that is missing, failed or cannot be checked; nil for a valid one. All
  /// failures have the same text, so that a forger learns nothing. Only a challenge that is expired, already
  /// used or of another app has its own.
  ///
  /// - Parameters:
  ///   - types: The types that the app accepts.
  ///   - inBody: Whether the attestation is a member of the body, and not a header.
  ///   - retryAfter: The time until the server asks Google again; nil for an outage without a time.
  package init?(
    _ result: AttestationResult, of types: [AttestationType], inBody: Bool = false, retryAfter: Duration?
  ) {
    switch result {
    case .passed: return nil
    case .missing:
      self.init(
        .attestationRequired,
        inBody
          ? "Send the member attestation. The list accepts has the allowed types."
          : "Send an App Check token in the header X-Firebase-AppCheck.")
      accepts = types.map(\.rawValue)
      responseFields.append("WWW-Authenticate", #"Attestation types="\#(accepts.joined(separator: " "))""#)
    case .failed(.badChallenge):
      self.init(
        .challengeExpired,
        "Request a new challenge and attest again. A challenge works once, for 300 seconds.")
    case .failed:
      self = .attestationFailed
    case .unavailable:
      self.init(
        .attestationUnavailable, "The server cannot check the attestation right now.",
        tryAgainAfter: retryAfter?.wholeSecondsRoundedUp ?? 10)
    }
  }
}
