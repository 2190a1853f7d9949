// sources: Texts JSON JOSE
// about: JOSE/JWS.swift JOSE/JWKSet.swift JOSE/JWTClaims.swift JOSE/Keys/DER.swift JOSE/Keys/DERShape.swift JOSE/Keys/ECDSASignature.swift JOSE/Keys/JWK.swift JOSE/Keys/KeyForm.swift JOSE/Keys/KeyText.swift JOSE/Keys/SubjectPublicKeyInfo.swift JOSE/Text
// without: sign signingInput token finished
// Feeds arbitrary octets to the readers of tokens, key sets, keys as PEM, DER and JWK, signatures, Base64 and hex.

/// The input's first octet chooses the reader.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzKeys(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let octets = unsafe Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  switch unsafe start[0] % 8 {
  case 0:
    guard let token = try? JWS.Compact(parsing: octets) else { return 0 }
    for key in someKeys { precondition(!token.verify(with: key), "a token of nobody's") }
    if let claims = try? JWTClaims(payload: token.payload) { try? token.validate(claims, JWTExpectations(), now: now) }
  case 1:
    guard let claims = try? JWTClaims(payload: octets) else { return 0 }
    for (leeway, requires, lifetime) in [(30, true, 600), (0, false, nil)] {
      let expected = JWTExpectations(
        issuer: "a", audience: "c", leeway: leeway, requiresExpirationTime: requires, maximumLifetime: lifetime)
      try? claims.validate(expected, now: now)
    }
  case 2:
    for isSymmetric in [true, false] {
      guard let set = try? JWKSet(parsing: octets, symmetric: isSymmetric) else { continue }
      for key in set.keys {
        if let keyID = key.keyID {
          let found = set.candidates(named: keyID, algorithm: key.algorithms.first?.rawValue ?? "HS256")
          precondition(found.map { $0.count <= 2 } == true, "a token has many keys")
        }
        if case .public(let key) = key.material {
          // OpenSSL tests an RSA modulus with random numbers, so the second check may refuse it.
          guard let again = try? PublicKey(jwk: .object(key.jwk())) else { continue }
          precondition(again.thumbprint == key.thumbprint, "a key reads as another")
        }
      }
    }
  case 3:
    _ = try? PublicKey(octets)
    _ = try? KeyForm(of: octets)
  case 4: _ = try? PrivateKey(octets)
  case 5:
    for size in [32, 48, 66] {
      if let joined = ECDSASignature.joined(fromDER: octets, size: size) {
        precondition(joined.count == 2 * size)
        guard let der = ECDSASignature.der(fromJoined: joined, size: size) else { return 0 }
        precondition(ECDSASignature.joined(fromDER: der, size: size) == joined, "a signature reads as another")
      }
      _ = ECDSASignature.der(fromJoined: octets, size: size)
    }
  case 6:
    if let bytes = Base64.decode(octets.span) { precondition(Array(Base64.encode(bytes).utf8) == octets) }
    if let bytes = Base64URL.decode(octets.span) { precondition(Array(Base64URL.encode(bytes).utf8) == octets) }
  default:
    if let bytes = Hex.decode(String(decoding: octets, as: UTF8.self)) { precondition(Hex.encode(bytes).utf8.count == octets.count) }
    _ = DERShape.of(octets)
  }
  return 0
}

private let now = 1_790_000_000.0

/// A public key and a secret that have signed no input.
private let someKeys: [JWK] = {
  let text = [
    #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
      + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
    #"{"kty":"oct","alg":"HS256","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#,
  ]
  return text.map { text in
    guard let value = try? JSONValue(parsing: Array(text.utf8)), let key = try? JWK(value) else {
      preconditionFailure("the constants are keys")
    }
    return key
  }
}()
