// Judges the proofs that requests carry (DPoP, RFC 9449), and writes the problem of those that do not hold.

package import API
package import HTTP
import JOSE
package import Platform
package import Trust

/// Judges proofs for one configuration.
package final class ProofVerifier: Sendable {
  /// What a request's header is worth, before anybody asks who the caller is.
  package enum Judgement: Sendable {
    case absent
    case failed(ProofFault)
    case verified(VerifiedProof)
  }

  private let nonces: ProofNonces
  private let externalURLs: [String]
  private let isTLS: Bool
  private let proxies: ClientAddress

  /// - Parameters:
  ///   - externalURLs: How clients reach this server, without a slash at the end; none leaves that to each request.
  ///   - isTLS: Whether the server itself takes `https`.
  ///   - proxies: The proxies whose `X-Forwarded-Proto` counts.
  package init(nonces: ProofNonces, externalURLs: [String], isTLS: Bool, proxies: ClientAddress) {
    self.nonces = nonces
    self.externalURLs = externalURLs
    self.isTLS = isTLS
    self.proxies = proxies
  }

  /// Judges everything but the caller and the one use.
  package func judge(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances
  ) -> Judgement {
    if let known = circumstances.proof { return .verified(known.proof) }
    switch request.count(of: .dpop) {
    case 0: return .absent
    case 1: break
    // Which of several counts would depend on who reads them.
    default: return .failed(.repeated)
    }
    guard let range = request.value(of: .dpop), range.count <= DPoPProof.maximumBytes else {
      return .failed(.malformed)
    }
    do throws(ProofFault) {
      return .verified(
        try DPoPProof(parsing: Array(request.head[range])).verify(
          method: request.method.rawValue, urls: urls(of: request, circumstances), nonces: nonces,
          now: circumstances.time.fractionalSeconds))
    } catch {
      return .failed(error)
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

  /// The response to a proof that does not hold (RFC 9449 §7.1, §9); nil for one that does.
  package func problem(_ result: ProofResult, at time: UnixTime) -> Problem? {
    let challenge: ProofFault.Challenge
    var problem: Problem
    switch result {
    case .passed, .keyless: return nil
    case .unavailable:
      return Problem(
        .storeUnavailable, "The server cannot check this proof right now. Try again with a new one.",
        retryAfter: 1)
    case .missing:
      challenge = .useNonce
      problem = Problem(
        .invalidProof, "Send a proof by your key in the header DPoP, with the nonce of the header DPoP-Nonce."
      )
    case .failed(.noKey):
      challenge = .invalidProof
      problem = Problem(
        .invalidProof,
        "This app needs a key for each phone, and this installation has none. Enrol again with jkt.")
    case .failed(let fault):
      challenge = fault.challenge
      problem = Problem(
        .invalidProof,
        "The proof in the header DPoP does not hold: \(fault.rawValue). Make a new one for this request.")
    }
    problem.responseFields.append(
      "WWW-Authenticate", "DPoP error=\"\(challenge.rawValue)\", algs=\"\(DPoPProof.algorithm.rawValue)\"")
    problem.responseFields.append("DPoP-Nonce", nonces.nonce(now: time.fractionalSeconds))
    return problem
  }
}

/// What came of the one use of a proof.
package enum ProofSpending: Sendable {
  case spent, replayed, unavailable

  /// The result for the request.
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
