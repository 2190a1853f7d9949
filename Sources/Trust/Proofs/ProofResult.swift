// The result of checking a request's DPoP proof, and the reasons why a proof is invalid.

/// The reason why a proof is invalid. The raw value is the word in metrics and audit lines.
public enum ProofFault: String, CaseIterable, Error, Sendable {
  /// The request has several proofs.
  case repeated
  /// The proof cannot be read, or is too long.
  case malformed
  /// The proof lacks `jti`, `htm`, `htu` or `iat`, or one of its claims is malformed.
  case missingClaim = "missing_claim"
  /// The `typ` is not `dpop+jwt`.
  case wrongType = "wrong_type"
  /// The proof is signed by an algorithm other than ES256.
  case wrongAlgorithm = "wrong_algorithm"
  /// The `jwk` is not a public key of P-256, or is a private key.
  case wrongKey = "wrong_key"
  /// The signature does not match the key in the proof.
  case badSignature = "bad_signature"
  /// The proof is for another method.
  case wrongMethod = "wrong_method"
  /// The proof is for another URL.
  case wrongURL = "wrong_url"
  /// The proof has no nonce.
  case noNonce = "no_nonce"
  /// The nonce has expired, or is not from this server.
  case wrongNonce = "wrong_nonce"
  /// The proof was made too long ago, or in the future.
  case wrongTime = "wrong_time"
  /// The proof is for another access token, or for none.
  case wrongToken = "wrong_token"
  /// The proof's key is not the caller's. If the request has no other credentials: no active installation has
  /// the key.
  case otherKey = "other_key"
  /// The proof was used before.
  case replayed
  /// The caller has no key, and needs one.
  case noKey = "no_key"

  /// The `error` of the challenge (RFC 9449 §7.1, §9), which says what the client must do.
  public var challenge: Challenge {
    switch self {
    case .malformed, .noNonce, .wrongNonce: .useNonce
    case .repeated, .missingClaim, .wrongType, .wrongAlgorithm, .wrongKey, .badSignature, .wrongMethod,
      .wrongURL,
      .wrongTime, .wrongToken, .otherKey, .replayed, .noKey:
      .invalidProof
    }
  }

  /// The instruction to the client, by its name in RFC 9449.
  public enum Challenge: String, Sendable {
    /// Make a proof with the nonce of the response.
    case useNonce = "use_dpop_nonce"
    /// Make a correct proof.
    case invalidProof = "invalid_dpop_proof"
  }
}

/// The result of checking the proof of one request.
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

  /// The reason, as a word; nil if `word` says everything.
  public var reason: String? {
    if case .failed(let fault) = self { fault.rawValue } else { nil }
  }

  /// Every result except the failed ones, for counters whose series exist from the start.
  public static let others: [ProofResult] = [.passed, .missing, .keyless, .unavailable]
}
