// sources: Texts JSON JOSE
// about: JOSE/JWS.swift JOSE/JWKSet.swift JOSE/JWTClaims.swift JOSE/Keys/DER.swift JOSE/Keys/DERShape.swift JOSE/Keys/ECDSASignature.swift JOSE/Keys/JWK.swift JOSE/Keys/KeyForm.swift JOSE/Keys/KeyText.swift JOSE/Keys/SubjectPublicKeyInfo.swift JOSE/Text
// Tokens, key sets, keys as PEM, DER and JWK, signatures, Base64 and hex against any octets.

/// The input's first octet chooses the reader.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzKeys(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let octets = unsafe Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  switch unsafe start[0] % 8 {
  case 0:
    if let token = try? JWS.Compact(parsing: octets) { _ = try? JWTClaims(payload: token.payload) }
  case 1: _ = try? JWTClaims(payload: octets)
  case 2: _ = try? JWKSet(parsing: octets, symmetric: true)
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
    if let bytes = Hex.decode(String(decoding: octets, as: UTF8.self)) { precondition(bytes.count * 2 == octets.count) }
    _ = DERShape.of(octets)
  }
  return 0
}
