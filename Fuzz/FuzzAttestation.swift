// sources: Texts JSON JOSE Trust
// about: Trust/CBOR.swift Trust/AppAttest.swift Trust/Numbers/NumberProof.swift JOSE/Certificates/X509Certificate.swift
// without: number
// Feeds arbitrary octets to the readers of CBOR, attestation objects, certificates and proofs of numbers.

/// The input's first octet chooses the reader.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAttestation(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let octets = unsafe Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  switch unsafe start[0] % 5 {
  case 0:
    if let value = try? CBOR(parsing: octets) {
      precondition(value.encoded == octets, "a value reads as another")
    }
  case 1: verify(octets)
  case 2:
    guard let leaf = X509Certificate(der: octets) else { return 0 }
    _ = (leaf.p256Point, leaf.isAuthority, leaf.extensionValue("1.2.840.113635.100.8.2"))
    _ = try? leaf.verify(by: leaf, under: AppAttestPolicy.appleRoot, at: 1_800_000_000)
  case 4: verifyProof(octets)
  default:
    // The authenticator data alone, beside a chain that can be read.
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
  // The sample in the corpus passes with the first terms. Each of the others makes it fail one check.
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

private func verifyProof(_ octets: [UInt8]) {
  guard let proof = try? NumberProof(parsing: octets) else { return }
  precondition(octets.count <= NumberProof.maximumBytes, "a long proof is read")
  let project = AppCheckProject(number: "123456789012", id: "sample")
  let number = "+15550100"
  let now = 1_776_800_000.0
  // The proof in the corpus passes with the first values. Each of the others makes it fail one check.
  for (project, number, now) in [
    (project, number, now), (AppCheckProject(number: "1", id: "sample"), number, now), (project, "+15550199", now),
    (project, number, now + 3600), (project, number, now - 61),
  ] {
    guard let end = try? proof.verify(with: [phoneKey], of: project, number: number, now: now) else { continue }
    precondition(end > now && end <= now + NumberProof.longestLife + NumberProof.leeway, "a proof lives too long")
  }
}

/// The key of RFC 7515 A.3, which has signed the proofs of the corpus.
private let phoneKey: JWK = {
  let text =
    #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
    + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#
  guard let value = try? JSONValue(parsing: Array(text.utf8)), let key = try? JWK(value) else {
    preconditionFailure("the constant is a key")
  }
  return key
}()
