// Authenticates a request, and judges the token of App Check that requests of its app carry.

package import API
package import Callers
package import HTTP
package import Records
import Serving
package import Trust

extension Handlers {
  /// The caller of a request whose app is genuine as far as the app's terms demand.
  ///
  /// App Check comes right after authentication, so that strangers cause neither verifications nor fetches, and before the kill
  /// switch and the rules.
  ///
  /// - Parameters:
  ///   - name: The app's name in the request, if any.
  ///   - record: Gets the attestation, and for a refusal the caller and the app.
  package func identify(
    _ request: borrowing Request, app name: Request.QueryItem, for client: ClientRequest,
    _ circumstances: Authenticator.Circumstances, _ record: inout AuditRecord?
  ) -> Authenticator.Outcome {
    let outcome = authenticate(request, for: client, circumstances, &record)
    guard let verifier = client.generation.appCheck, case .caller(let caller) = outcome,
      let (app, terms) = client.generation.appCheckTerms(named: name, by: caller)
    else { return outcome }
    switch attest(request, terms, verifier, client, circumstances, &record) {
    case .passed: return outcome
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem):
      record?.caller = caller.audited
      record?.app = app?.id
      return .refused(problem)
    }
  }

  /// The caller of a request. Counts the result of judging its proof, and notes it in the record.
  package func authenticate(
    _ request: borrowing Request, for client: ClientRequest, _ circumstances: Authenticator.Circumstances,
    _ record: inout AuditRecord?
  ) -> Authenticator.Outcome {
    var proof: ProofResult?
    let outcome = client.generation.authenticator.authenticate(request, circumstances, &proof)
    if let proof {
      record?.proof = proof
      // What waits for something else is judged again.
      if case .first = outcome {} else { client.generation.metrics.proved(proof, lane: client.lane) }
    }
    return outcome
  }

  /// The same for work that always has a record.
  package func identify(
    _ request: borrowing Request, app name: Request.QueryItem, for client: ClientRequest,
    _ circumstances: Authenticator.Circumstances, _ record: inout AuditRecord
  ) -> Authenticator.Outcome {
    var optional: AuditRecord? = record
    defer { if let optional { record = optional } }
    return identify(request, app: name, for: client, circumstances, &optional)
  }

  /// What becomes of a request by its app's terms.
  package enum Attested {
    case passed
    case first(Authenticator.Prerequisite)
    case refused(Problem)
  }

  /// Judges the header of a request, counts the result, and notes it in the record.
  package func attest(
    _ request: borrowing Request, _ terms: AppCheckTerms, _ verifier: AppCheckVerifier,
    _ client: ClientRequest, _ circumstances: Authenticator.Circumstances, _ record: inout AuditRecord?
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
      case .judged(let judged): result = judged
      }
    // Which of several counts would depend on who reads them.
    default: result = .failed(.malformed)
    }
    let attestation = AuditedAttestation(type: .appCheck, result: result)
    client.generation.metrics.attested(attestation, lane: client.lane)
    record?.attestation = attestation
    guard terms.mode == .enforce, let problem = Problem(result, of: [.appCheck]) else { return .passed }
    return .refused(problem)
  }
}

extension Problem {
  /// The response to an attestation that does not hold; nil for one that does. One text for all faults: a forger learns nothing.
  ///
  /// - Parameters:
  ///   - types: Those that the app takes.
  ///   - inBody: Whether the attestation is a member of the body, and not a header.
  package init?(_ result: AttestationResult, of types: [AttestationType], inBody: Bool = false) {
    switch result {
    case .passed: return nil
    case .missing:
      self.init(
        .attestationRequired,
        inBody
          ? "Send attestation, of a type in accepts."
          : "Send a token of App Check in the header X-Firebase-AppCheck.")
      accepts = types.map(\.rawValue)
      responseFields.append("WWW-Authenticate", #"Attestation types="\#(accepts.joined(separator: " "))""#)
    case .failed(.badChallenge):
      self.init(
        .challengeExpired, "Get a challenge, and attest anew. A challenge is good once, for 300 seconds.")
    case .failed:
      self.init(.attestationFailed, "This request does not come from the genuine app.")
    case .unavailable:
      self.init(
        .attestationUnavailable, "The server cannot check the attestation right now. Try again.",
        retryAfter: 10)
    }
  }
}
