// Verifies the DPoP proofs in requests (RFC 9449), and creates the responses to invalid ones.

package import API
package import HTTP
import JOSE
package import Platform
import Synchronization
package import Trust

/// Verifies the DPoP proofs in requests, with the settings of one configuration.
package final class ProofVerifier: Sendable {
  /// The result for a request's header, before the caller is known.
  package enum Judgement: Sendable {
    case absent
    case failed(ProofFault)
    /// The address has sent too many proofs. The next one is verified after this time.
    case limited(Duration)
    case verified(VerifiedProof)
  }

  private let nonces: ProofNonces
  private let externalURLs: [String]
  private let isTLS: Bool
  private let proxies: ClientAddress
  private let throttle: LoginThrottle
  /// The keys of clients whose proofs were right, by the digests of the proofs' JOSE headers, which contain
  /// the keys.
  private let known = Mutex<[SHA256Digest: ProofKey]>([:])
  /// The maximum number of these keys, each of about 4 KB. Beyond it, half of them are forgotten.
  private static let capacity = 2_048

  /// - Parameters:
  ///   - externalURLs: The URLs at which clients reach this server, without a slash at the end. If there are
  ///     none, the URL follows from each request.
  ///   - isTLS: Whether the server itself accepts `https`.
  ///   - proxies: The proxies whose `X-Forwarded-Proto` counts.
  ///   - throttle: Limits how many signatures are verified for an address.
  package init(
    nonces: ProofNonces, externalURLs: [String], isTLS: Bool, proxies: ClientAddress,
    throttle: LoginThrottle
  ) {
    self.throttle = throttle
    self.nonces = nonces
    self.externalURLs = externalURLs
    self.isTLS = isTLS
    self.proxies = proxies
  }

  /// Verifies the proof of a request. Does not check whose key made it, nor whether it was used before.
  package func judge(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances
  ) -> Judgement {
    if let known = circumstances.proof { return .verified(known.proof) }
    switch request.count(of: .dpop) {
    case 0: return .absent
    case 1: break
    // Programs could disagree about which of several proofs counts.
    default: return .failed(.repeated)
    }
    guard let range = request.value(of: .dpop), range.count <= DPoPProof.maximumBytes else {
      return .failed(.malformed)
    }
    do throws(ProofFault) {
      let proof = try DPoPProof(parsing: Array(request.head[range]))
      let client = LoginThrottle.Credential(digest: proof.headerDigest)
      var wait: Duration?
      let verified = try proof.verify(
        method: request.method.rawValue, urls: urls(of: request, circumstances), nonces: nonces,
        now: circumstances.time.fractionalSeconds, signer: known.withLock { $0[proof.headerDigest] }
      ) {
        // Anyone can make a key and sign with it, so the right signature of an unknown client counts like a
        // wrong one.
        wait = throttle.takeVerification(
          address: circumstances.address, credential: client, now: circumstances.now)
        return wait == nil
      }
      return verified.map { .verified($0) } ?? .limited(wait ?? .zero)
    } catch {
      return .failed(error)
    }
  }

  /// Remembers the key of a proof that was made with its caller's key. The client's later proofs are verified
  /// no matter how many others its address sends.
  package func succeeded(_ proof: VerifiedProof, address: IPAddress, now: MonotonicTime) {
    throttle.succeeded(address: address, credential: .init(digest: proof.headerDigest), now: now)
    known.withLock { known in
      guard known[proof.headerDigest] == nil else { return }
      if known.count >= Self.capacity {
        known = Dictionary(
          uniqueKeysWithValues: known.dropFirst(Self.capacity / 2).map { ($0.key, $0.value) })
      }
      known[proof.headerDigest] = proof.signer
    }
  }

  /// The URLs that a proof for this request may name.
  private func urls(
    of request: borrowing Request, _ circumstances: Authenticator.Circumstances
  ) -> [ComparableURL] {
    let path = request.string(request.path)
    guard externalURLs.isEmpty else { return externalURLs.compactMap { ComparableURL($0 + path) } }
    guard request.count(of: .host) == 1, let host = request.text(of: .host) else { return [] }
    let scheme =
      circumstances.peer.flatMap { proxies.scheme(request, peer: $0) } ?? (isTLS ? "https" : "http")
    return [ComparableURL("\(scheme)://\(host)\(path)")].compactMap(\.self)
  }

  /// The response to a proof that is invalid or missing (RFC 9449 §7.1, §9), or that cannot be checked now.
  /// Nil for a valid proof, and for an installation without a key (`keyless`).
  package func problem(_ result: ProofResult, at time: UnixTime) -> Problem? {
    let challenge: ProofFault.Challenge
    var problem: Problem
    switch result {
    case .passed, .keyless: return nil
    case .unavailable:
      return Problem(
        .storeUnavailable, "The server cannot check this proof right now.", tryAgainAfter: 1,
        "with a new one")
    case .missing:
      challenge = .useNonce
      problem = Problem(
        .invalidProof,
        "Sign a new proof with your key and send it in the header DPoP. Put the nonce from DPoP-Nonce into it."
      )
    case .failed(.noKey):
      challenge = .invalidProof
      problem = Problem(
        .invalidProof,
        "This app requires a key on each phone, and this installation has none. Enroll again with jkt.")
    case .failed(let fault):
      challenge = fault.challenge
      problem = Problem(
        .invalidProof,
        "The proof in the header DPoP is invalid (\(fault.rawValue)). Sign a new one for this request.")
    }
    self.challenge(challenge, at: time, &problem)
    return problem
  }

  /// Adds the challenge that says what is wrong with the proof, and a nonce for the next proof.
  func challenge(_ challenge: ProofFault.Challenge, at time: UnixTime, _ problem: inout Problem) {
    problem.responseFields.append(
      "WWW-Authenticate", "DPoP error=\"\(challenge.rawValue)\", algs=\"\(DPoPProof.algorithm.rawValue)\"")
    problem.responseFields.append("DPoP-Nonce", nonces.nonce(now: time.fractionalSeconds))
  }
}

/// The result of spending a proof, which works once.
package enum ProofSpending: Sendable {
  case spent, replayed, unavailable

  package var result: ProofResult {
    switch self {
    case .spent: .passed
    case .replayed: .failed(.replayed)
    case .unavailable: .unavailable
    }
  }
}

extension UnixTime {
  /// Seconds since 1970, with a fraction.
  fileprivate var fractionalSeconds: Double { Double(seconds) + Double(nanoseconds) / 1e9 }
}
