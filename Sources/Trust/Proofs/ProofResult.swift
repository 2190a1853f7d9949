// What a server thinks of the proof that a request carries.

/// Why a proof does not hold. The raw value is the word in metrics and audit lines.
public enum ProofFault: String, CaseIterable, Error, Sendable {
  /// The request has several proofs.
  case repeated
  /// It cannot be read, or is too long.
  case malformed
  /// It lacks `jti`, `htm`, `htu` or `iat`.
  case missingClaim = "missing_claim"
  /// Its `typ` is another one.
  case wrongType = "wrong_type"
  /// It is signed by another algorithm than ES256.
  case wrongAlgorithm = "wrong_algorithm"
  /// Its `jwk` is no public key of P-256, or is a private key.
  case wrongKey = "wrong_key"
  /// The key in it did not sign it.
  case badSignature = "bad_signature"
  /// It is for another method.
  case wrongMethod = "wrong_method"
  /// It is for another URL.
  case wrongURL = "wrong_url"
  /// It has no nonce.
  case noNonce = "no_nonce"
  /// Its nonce is over, or is no nonce of this server.
  case wrongNonce = "wrong_nonce"
  /// It was made too long ago, or in the future.
  case wrongTime = "wrong_time"
  /// It is for another access token, or for none.
  case wrongToken = "wrong_token"
  /// Another key made it than the one that the caller has.
  case otherKey = "other_key"
  /// It was used before.
  case replayed
  /// The caller has no key, and needs one.
  case noKey = "no_key"

  /// The `error` of the challenge (RFC 9449 §7.1, §9): what the client has to do.
  public var challenge: Challenge {
    switch self {
    case .malformed, .noNonce, .wrongNonce: .useNonce
    case .repeated, .missingClaim, .wrongType, .wrongAlgorithm, .wrongKey, .badSignature, .wrongMethod,
      .wrongURL,
      .wrongTime, .wrongToken, .otherKey, .replayed, .noKey:
      .invalidProof
    }
  }

  /// What the client has to do, as RFC 9449 names it.
  public enum Challenge: String, Sendable {
    /// Make a proof with the nonce of the response.
    case useNonce = "use_dpop_nonce"
    /// Make a right proof.
    case invalidProof = "invalid_dpop_proof"
  }
}

/// The result of judging the proof of one request.
public enum ProofResult: Hashable, Sendable {
  case passed
  /// The caller has a key, and the request has no proof.
  case missing
  /// The caller is an installation without a key, of an app whose installations may have one.
  case keyless
  case failed(ProofFault)
  /// The store cannot say whether the proof was used before.
  case unavailable

  /// The word in metrics and audit lines.
  public var word: String {
    switch self {
    case .passed: "passed"
    case .missing: "missing"
    case .keyless: "keyless"
    case .failed: "failed"
    case .unavailable: "unavailable"
    }
  }

  /// More about it, as a word; nil where `word` says all.
  public var reason: String? {
    if case .failed(let fault) = self { fault.rawValue } else { nil }
  }

  /// Every result but the failed ones, for counters whose series are there from the start.
  public static let others: [ProofResult] = [.passed, .missing, .keyless, .unavailable]
}
