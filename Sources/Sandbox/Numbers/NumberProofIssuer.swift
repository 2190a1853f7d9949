// The emulated Firebase Phone Number Verification: valid and invalid proofs of any number, and the key that
// verifies them.

import HTTP
import JOSE
import JSON
import Platform
import Synchronization
import Texts

/// Signs proofs of numbers. It makes its keys when it first needs them, and does not save them.
final class NumberProofIssuer: Sendable {
  /// The path of the key set.
  static let keysPath = "/fpnv/v1beta/jwks"
  private static let keyID = "sandbox"

  /// The faults that a test can request in a proof.
  enum Fault: String, CaseIterable {
    case expired
    case wrongNumber = "wrong_number"
    case wrongProject = "wrong_project"
    /// Another key signed the proof.
    case badSignature = "bad_signature"
    /// The last proof of this number without a fault, again. If there is none, a new proof without a fault.
    case replayed
  }

  private let signer = DeferredSigner { () throws(KeyError) in
    try Signer(key: .generate(for: .ES256), algorithm: .ES256)
  }
  private let foreign = DeferredSigner { () throws(KeyError) in
    try Signer(key: .generate(for: .ES256), algorithm: .ES256)
  }
  private let last = Mutex<[ExactText: String]>([:])
  /// The maximum number of phone numbers whose last proof is remembered. At the limit, the next proof forgets
  /// them all.
  private static let mostNumbers = 256

  func keys() throws(KeyError) -> [UInt8] {
    var key = try signer.get().key.publicKey.jwk()
    key["kid"] = .string(Self.keyID)
    key["use"] = "sig"
    key["alg"] = "ES256"
    return (["keys": [.object(key)]] as JSONValue).serialized()
  }

  /// Makes a proof of a number.
  ///
  /// - Parameter now: Seconds since the epoch.
  func proof(of phone: String, in project: (number: String, id: String), _ fault: Fault?, now: Int64) throws
    -> String
  {
    if fault == .replayed, let proof = last.withLock({ $0[ExactText(phone)] }) { return proof }
    let base = "https://fpnv.googleapis.com/projects/"
    let number = fault == .wrongProject ? "210987654321" : project.number
    let issuedAt = fault == .expired ? now - 7200 : now
    let claims: JSONObject = [
      "iss": .string(base + number),
      "aud": [.string(base + number), .string(base + (fault == .wrongProject ? "another" : project.id))],
      "sub": .string(fault == .wrongNumber ? "+15550100" : phone),
      "iat": .number(JSONNumber(issuedAt)), "exp": .number(JSONNumber(issuedAt + 3600)),
      "jti": .string(Identifier.random()),
    ]
    let proof = try JWS.sign(
      header: ["alg": "ES256", "kid": .string(Self.keyID), "typ": "JWT"], payload: claims.serialized(),
      with: fault == .badSignature ? foreign.get() : signer.get())
    if fault == nil {
      last.withLock { last in
        if last.count >= Self.mostNumbers { last = [:] }
        last[ExactText(phone)] = proof
      }
    }
    return proof
  }
}
