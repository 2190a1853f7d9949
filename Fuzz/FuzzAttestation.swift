// sources: Texts JSON JOSE Trust
// about: Trust/CBOR.swift Trust/AppAttest.swift JOSE/Certificates/X509Certificate.swift
// CBOR, attestation objects and certificates against any octets.

/// The input's first octet chooses the reader.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAttestation(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let octets = unsafe Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  switch unsafe start[0] % 4 {
  case 0:
    if let value = try? CBOR(parsing: octets) {
      precondition(value.encoded == octets, "a value reads as another")
    }
  case 1: verify(octets)
  case 2:
    // The authenticator data alone, below a chain that is read.
    guard let leaf = X509Certificate(der: octets) else { return 0 }
    _ = (leaf.p256Point, leaf.isAuthority, leaf.extensionValue("1.2.840.113635.100.8.2"))
    _ = try? leaf.verify(by: leaf, under: AppAttestPolicy.appleRoot, at: 1_800_000_000)
  default:
    let root = AppAttestPolicy.appleRoot.der
    verify(
      CBOR.map([
        .init(.text("fmt"), .text("apple-appattest")),
        .init(
          .text("attStmt"),
          .map([
            .init(.text("x5c"), .array([.bytes(root), .bytes(root)])), .init(.text("receipt"), .bytes([])),
          ])),
        .init(.text("authData"), .bytes(octets)),
      ]).encoded)
  }
  return 0
}

private func verify(_ object: [UInt8]) {
  let policy = AppAttestPolicy(environments: [.production], categories: [4], root: AppAttestPolicy.appleRoot)
  try? AppAttestation(parsing: object).verify(
    keyID: [], clientDataHash: [], AppAttestTerms(appID: "", atLeast: nil), policy, now: 1_776_800_000)
}
