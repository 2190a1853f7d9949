// Checks proofs of keys, for callers that have a key and for installations that authenticate by key alone.

import API
import Gate
import HTTP
import Installations
import JOSE
import Platform
import Store
import Trust

extension Authenticator {
  /// Checks the proof of a caller's key. Each proof works once.
  func prove(
    _ key: SHA256Digest, of caller: Caller, _ request: borrowing Request, _ circumstances: Circumstances,
    _ result: inout ProofResult?
  ) -> Outcome {
    let proof: VerifiedProof
    switch proofs.judge(request, circumstances) {
    case .absent: return refused(.missing, circumstances, &result)
    case .failed(let fault): return refused(.failed(fault), circumstances, &result)
    case .limited(let wait): return .refused(.tooManyLogins(wait))
    case .verified(let verified): proof = verified
    }
    if caller.proof == .jwt, proof.accessToken == nil || proof.accessToken != tokenDigest(request) {
      return refused(.failed(.wrongToken), circumstances, &result)
    }
    guard proof.key == key else { return refused(.failed(.otherKey), circumstances, &result) }
    guard let spending = circumstances.proof?.spending else { return .first(.proof(proof)) }
    guard case .spent = spending else { return refused(spending.result, circumstances, &result) }
    proofs.succeeded(proof, address: circumstances.address, now: circumstances.now)
    result = .passed
    return .caller(caller)
  }

  func refused(
    _ result: ProofResult, _ circumstances: Circumstances, _ noted: inout ProofResult?
  ) -> Outcome {
    noted = result
    guard let problem = proofs.problem(result, at: circumstances.time) else {
      preconditionFailure("a proof that holds is refused")
    }
    return .refused(problem)
  }

  /// SHA-256 of the token in `Authorization`.
  private func tokenDigest(_ request: borrowing Request) -> SHA256Digest? {
    guard let range = request.value(of: .authorization) else { return nil }
    let value = request.head.span.extracting(range)
    switch Credentials(value) {
    case .bearer(let token), .dpop(let token): return SHA256Digest(of: value.extracting(token))
    case .basic, nil: return nil
    }
  }

  /// Finds the installation whose key made the proof. Its app must let phones authenticate with their key
  /// alone.
  func keyholder(
    _ request: borrowing Request, _ installations: InstallationCallers, _ circumstances: Circumstances,
    _ result: inout ProofResult?
  ) -> Outcome {
    let proof: VerifiedProof
    switch proofs.judge(request, circumstances) {
    case .absent: return refused(.missing, circumstances, &result)
    case .failed(let fault): return refused(.failed(fault), circumstances, &result)
    case .limited(let wait): return .refused(.tooManyLogins(wait))
    case .verified(let verified): proof = verified
    }
    let credential = LoginThrottle.Credential(digest: proof.key)
    let refusal = tooOften(nil, credential, circumstances)
    let found: KnownInstallation?
    switch circumstances.prepared {
    case .installation(let looked): found = looked
    case .noTurn: return .refused(.tooManyWaiting)
    case .storeFailed: return .refused(.noInstallations)
    case .keys, nil:
      guard let known = circumstances.holder(in: installations.directory) else {
        return .first(.keyholder(proof, installations.directory, isGuarded: refusal != nil))
      }
      found = known
    }
    guard let found, found.installation.key == proof.key,
      installations.use(found.installation, at: Instant(circumstances.time))
    else {
      throttle.failed(address: circumstances.address, identity: nil, now: circumstances.now)
      return refusal.map { .refused($0) } ?? refused(.failed(.otherKey), circumstances, &result)
    }
    guard installations.terms[found.installation.appID]?.key == .required else {
      return .refused(unauthenticated("Send client_id and client_secret together with the proof."))
    }
    throttle.succeeded(address: circumstances.address, credential: credential, now: circumstances.now)
    return .caller(Caller(authenticated: found))
  }
}
