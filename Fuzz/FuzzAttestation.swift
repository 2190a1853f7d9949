// sources: Texts JSON JOSE Trust
// about: Trust/CBOR.swift Trust/AppAttest.swift JOSE/Certificates/X509Certificate.swift
// without: number
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
  guard let attestation = try? AppAttestation(parsing: object) else { return }
  let keyID = Base64.decode("zgSY9YSD+7TaDXssY6WlOPVS1K3Lmk+pFhlcSWE+ZV0=") ?? []
  let clientDataHash = Array("example_server_challenge".utf8)
  let appID = "1234567890.com.example.myapp"
  // Those of the sample in the corpus, which passes by the first and fails by one check each with the others.
  let terms: [(appID: String, least: String?, AppAttestPolicy.Environment, categories: [UInt32], keyID: [UInt8])] = [
    (appID, "0.9.9.0", .production, [1, 2, 3, 4], keyID), (appID, "99999", .production, [1, 2, 3, 4], keyID),
    (appID, "1.a", .development, [4], keyID), (appID, nil, .production, [], keyID),
    ("", nil, .production, [4], keyID), (appID, nil, .production, [4], []),
  ]
  for (appID, least, environment, categories, keyID) in terms {
    let terms = AppAttestTerms(appID: appID, atLeast: least.flatMap { BuildNumber($0) })
    let policy = AppAttestPolicy(
      environments: [environment], categories: Set(categories), root: AppAttestPolicy.appleRoot)
    try? attestation.verify(keyID: keyID, clientDataHash: clientDataHash, terms, policy, now: 1_776_800_000)
  }
}
