// Emulates Apple's App Attest on iPhones: makes valid and invalid attestations.

import JOSE
import JSON
import Synchronization
import Texts
import Trust

/// Makes attestations of phones, signed under a root certificate. The certificates and keys are not saved.
final class PhoneMaker: Sendable {
  /// The faults that a test can request in an attestation.
  enum Fault: String, CaseIterable {
    /// An unknown root certificate vouches for the phone.
    case badSignature = "bad_signature"
    /// The attestation is for another app.
    case wrongApp = "wrong_app"
    /// The certificate has expired and, from iOS 27 on, the app's build is 0.
    case old
    /// The app's last attestation without a fault, again. If there is none, a new one without a fault.
    case replayed
    /// The app was installed from Xcode.
    case development
  }

  /// A root certificate and the intermediate one that it signed.
  private struct Authority {
    static let name = "Callgate Sandbox App Attestation CA 1"
    /// The validity of Apple's root certificate, in seconds since the epoch. Both certificates have it.
    static let validity: ClosedRange<Int64> = 1_584_556_373...2_373_148_800
    /// The key usage of Apple's certificate authorities.
    static let usage = "keyCertSign,cRLSign"
    let root: X509Certificate
    let intermediate: X509Certificate
    let key: PrivateKey

    init() throws(KeyError) {
      let name = "Callgate Sandbox App Attestation Root CA"
      let rootKey = try PrivateKey.generate(for: .ES384)
      key = try PrivateKey.generate(for: .ES384)
      root = try X509Certificate.issue(
        .init(
          name: name, key: rootKey.publicKey, validity: Self.validity, constraints: "CA:TRUE",
          usage: Self.usage),
        by: name, with: rootKey)
      intermediate = try X509Certificate.issue(
        .init(
          name: Self.name, key: key.publicKey, validity: Self.validity, constraints: "CA:TRUE,pathlen:0",
          usage: Self.usage),
        by: name, with: rootKey)
    }
  }

  private let authority: Authority
  private let last = Mutex<[ExactText: JSONValue]>([:])
  private let keys = Mutex<[ExactText: PublicKey]>([:])
  /// The maximum number of apps whose last attestation is remembered, and of phones with a name. At the
  /// limit, the next one forgets them all.
  private static let most = 256
  /// The path of the root certificate.
  static let rootPath = "/app-attest/root.pem"
  private static let day: Int64 = 86_400

  init() throws(KeyError) { authority = try Authority() }

  /// The root certificate that vouches for the phones.
  var root: X509Certificate { authority.root }

  /// The public key of a phone. A phone with a name has the same key each time, until the names are forgotten
  /// (`most`). A phone without a name gets a new one.
  private func key(of phone: String?) throws(KeyError) -> PublicKey {
    guard let phone else { return try PrivateKey.generate(for: .ES256).publicKey }
    return try keys.withLock { (keys) throws(KeyError) in
      if let key = keys[ExactText(phone)] { return key }
      if keys.count >= Self.most { keys = [:] }
      let key = try PrivateKey.generate(for: .ES256).publicKey
      keys[ExactText(phone)] = key
      return key
    }
  }

  /// Makes the `attestation` member that a phone would send.
  ///
  /// - Parameters:
  ///   - app: The name of an app, or team and bundle.
  ///   - phone: The name of the phone; nil for a new one.
  ///   - clientData: The data that the phone signs.
  ///   - challenge: The challenge in `clientData`.
  ///   - system: The major version of iOS. From 27 on, an attestation states the app's build and category.
  ///   - now: Seconds since the epoch.
  func attestation(
    _ app: String, of apps: AttestedApps, on phone: String?, clientData: String, challenge: String,
    system: Int64,
    _ fault: Fault?,
    now: Int64
  ) throws(KeyError) -> JSONValue {
    let id = apps.apple[ExactText(app)] ?? app
    if fault == .replayed, let attestation = last.withLock({ $0[ExactText(id)] }) { return attestation }
    let authority = fault == .badSignature ? try Authority() : authority
    let key = try key(of: phone)
    let point = Array(key.subjectPublicKeyInfo.suffix(65))
    let keyID = SHA256.digest(point)
    let identifier = fault == .development ? "appattestdevelop" : "appattest\0\0\0\0\0\0\0"
    let coseKey = CBOR.map([
      .init(.unsigned(1), .unsigned(2)), .init(.unsigned(3), .negative(6)), .init(.negative(0), .unsigned(1)),
      .init(.negative(1), .bytes(Array(point[1..<33]))), .init(.negative(2), .bytes(Array(point[33...]))),
    ])
    var data = SHA256.digest(Array((fault == .wrongApp ? id + ".another" : id).utf8))
    data += [0x40, 0, 0, 0, 0] + Array(identifier.utf8) + [0, 32] + keyID + coseKey.encoded
    if system >= 27 {
      data +=
        CBOR.map([
          .init(.text("apple_bundle_version_01"), .text(fault == .old ? "0" : "999999")),
          .init(.text("apple_validation_category_01"), .bytes([4, 0, 0, 0])),
        ]).encoded
    }
    let nonce = SHA256.digest(data + SHA256.digest(Array(clientData.utf8)))
    let start = fault == .old ? now - 4 * Self.day : now - Self.day
    var content = X509Certificate.Content(
      name: Hex.encode(keyID), key: key, validity: start...start + 3 * Self.day, constraints: "CA:FALSE",
      usage: "digitalSignature")
    content.extensions = [("1.2.840.113635.100.8.2", [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + nonce)]
    let leaf = try X509Certificate.issue(content, by: Authority.name, with: authority.key)
    let object = CBOR.map([
      .init(.text("fmt"), .text("apple-appattest")),
      .init(
        .text("attStmt"),
        .map([
          .init(.text("x5c"), .array([.bytes(leaf.der), .bytes(authority.intermediate.der)])),
          .init(.text("receipt"), .bytes([])),
        ])),
      .init(.text("authData"), .bytes(data)),
    ])
    let attestation: JSONValue = [
      "type": "app_attest", "object": .string(Base64.encode(object.encoded)),
      "key_id": .string(Base64.encode(keyID)), "challenge": .string(challenge),
    ]
    if fault == nil {
      last.withLock { last in
        if last.count >= Self.most { last = [:] }
        last[ExactText(id)] = attestation
      }
    }
    return attestation
  }
}
