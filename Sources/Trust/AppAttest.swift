// Verifies attestations of Apple's App Attest:
// https://developer.apple.com/documentation/devicecheck/validating-apps-that-connect-to-your-server.

public import JOSE
import Texts

/// The settings of App Attest that all apps share.
public struct AppAttestPolicy: Sendable {
  /// The source from which an app was installed.
  public enum Environment: String, CaseIterable, Sendable {
    /// The App Store and TestFlight.
    case production
    /// Xcode.
    case development

    /// The AAGUID of the environment's keys.
    var identifier: [UInt8] {
      switch self {
      case .production: Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
      case .development: Array("appattestdevelop".utf8)
      }
    }
  }

  /// The way in which Apple validated a phone's app before it launched. iOS 27 and later report this.
  public enum Category: String, CaseIterable, Sendable {
    case testflight, development
    case appStore = "app_store"
    case enterprise

    /// Apple's number.
    public var number: UInt32 {
      switch self {
      case .testflight: 2
      case .development: 3
      case .appStore: 4
      case .enterprise: 5
      }
    }
  }

  /// The environments from which apps may come.
  public let environments: Set<Environment>
  /// Apple's numbers of the categories that pass.
  public let categories: Set<UInt32>
  /// The root certificate of all phones' attestations.
  public var root: X509Certificate

  public init(environments: Set<Environment>, categories: Set<UInt32>, root: X509Certificate) {
    self.environments = environments
    self.categories = categories
    self.root = root
  }

  /// Apple's root certificate.
  public static let appleRoot: X509Certificate = {
    guard let root = X509Certificate(pem: Array(AppAttestRoot.pem.utf8)) else {
      preconditionFailure("the constant is a certificate")
    }
    return root
  }()
}

/// The app whose attestations pass.
public struct AppAttestTerms: Sendable {
  /// The app's id, from team id and bundle id: `ABCDE12345.com.example.shop`.
  public let appID: String
  /// The oldest build that passes, for phones that report theirs; nil if all builds pass.
  public let atLeast: BuildNumber?

  public init(appID: String, atLeast: BuildNumber?) {
    self.appID = appID
    self.atLeast = atLeast
  }
}

/// A CFBundleVersion: one to four whole numbers with full stops between them.
public struct BuildNumber: Hashable, Sendable {
  private let parts: [Int]

  /// Nil if the text is not a build number.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard (1...4).contains(parts.count) else { return nil }
    var numbers: [Int] = []
    for part in parts {
      guard (1...9).contains(part.count), part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      numbers.append(part.reduce(0) { $0 * 10 + Int($1 - 0x30) })
    }
    // `2.0` is equal to `2`.
    while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
    self.parts = numbers
  }

  /// Whether the build is not older than another.
  func isAtLeast(_ other: BuildNumber) -> Bool { !parts.lexicographicallyPrecedes(other.parts) }
}

/// A parsed attestation. Only its form was checked.
public struct AppAttestation: Sendable {
  /// The extension of the leaf that has the nonce.
  static let nonceExtension = "1.2.840.113635.100.8.2"
  /// The beginning of that extension's value: SEQUENCE { [1] { OCTET STRING of 32 bytes } }.
  static let noncePrefix: [UInt8] = [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20]

  private let leaf: X509Certificate
  private let intermediate: X509Certificate
  private let authenticatorData: [UInt8]
  private let authenticator: AttestedAuthenticator

  /// Parses an attestation object.
  public init(parsing object: [UInt8]) throws(AttestationFault) {
    let value: CBOR
    do throws(CBOR.Fault) { value = try CBOR(parsing: object) } catch { throw .malformed }
    guard value.members?.count == 3, value["fmt"] == .text("apple-appattest"),
      let statement = value["attStmt"], statement.members?.count == 2,
      let chain = statement["x5c"]?.elements, chain.count == 2, statement["receipt"]?.octets != nil,
      let leaf = chain[0].octets.flatMap({ X509Certificate(der: $0) }),
      let intermediate = chain[1].octets.flatMap({ X509Certificate(der: $0) }),
      let data = value["authData"]?.octets
    else { throw .malformed }
    self.leaf = leaf
    self.intermediate = intermediate
    authenticatorData = data
    authenticator = try AttestedAuthenticator(parsing: data)
  }

  /// Verifies the attestation, in Apple's order.
  ///
  /// - Parameters:
  ///   - keyID: The name of the key that the app sent: SHA-256 of its point.
  ///   - clientDataHash: SHA-256 of the client data, which the phone has signed.
  ///   - now: Seconds since 1970.
  /// - Throws: The first check that fails.
  public func verify(
    keyID: [UInt8], clientDataHash: [UInt8], _ terms: AppAttestTerms, _ policy: AppAttestPolicy, now: Int64
  ) throws(AttestationFault) {
    do throws(X509Certificate.ChainFault) {
      try leaf.verify(by: intermediate, under: policy.root, at: now)
    } catch {
      switch error {
      case .untrusted: throw .badSignature
      case .expired: throw .expired
      case .notYetValid: throw .wrongTime
      }
    }
    guard !leaf.isAuthority, let point = leaf.p256Point else { throw .badSignature }
    let nonce = SHA256.digest(authenticatorData + clientDataHash)
    guard leaf.extensionValue(Self.nonceExtension) == Self.noncePrefix + nonce else { throw .wrongNonce }
    // Our text: both are octets.
    guard SHA256.digest(point) == keyID, authenticator.point == point else { throw .wrongKey }
    guard authenticator.appIDHash == SHA256.digest(Array(terms.appID.utf8)) else { throw .wrongApp }
    guard authenticator.counter == 0 else { throw .wrongCounter }
    guard policy.environments.contains(where: { $0.identifier == authenticator.identifier }) else {
      throw .wrongEnvironment
    }
    // Our text: both are octets.
    guard authenticator.credentialID == keyID else { throw .wrongKey }
    if let category = authenticator.category, !policy.categories.contains(category) { throw .wrongCategory }
    if let least = terms.atLeast, let build = authenticator.build {
      guard let build = BuildNumber(build), build.isAtLeast(least) else { throw .oldApp }
    }
  }
}

/// The authenticator data of an attestation (WebAuthn §6.1, with an attested credential).
private struct AttestedAuthenticator {
  /// SHA-256 of the app's id.
  let appIDHash: [UInt8]
  let counter: UInt32
  /// The AAGUID, which identifies the environment.
  let identifier: [UInt8]
  let credentialID: [UInt8]
  /// The key's point as 65 bytes, uncompressed.
  let point: [UInt8]
  /// The category that iOS 27 reports; nil if the phone reports none.
  var category: UInt32?
  /// The CFBundleVersion that iOS 27 reports; nil if the phone reports none.
  var build: String?

  /// The flag of an attested credential. The flag of extensions is ignored, because it does not show whether
  /// there are any.
  private static let hasCredential: UInt8 = 0x40
  private static let headCount = 87

  init(parsing octets: [UInt8]) throws(AttestationFault) {
    guard octets.count > Self.headCount, octets[32] & Self.hasCredential != 0, octets[53] == 0,
      octets[54] == 32
    else { throw .malformed }
    appIDHash = Array(octets[..<32])
    counter = octets[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
    identifier = Array(octets[37..<53])
    credentialID = Array(octets[55..<Self.headCount])
    do throws(CBOR.Fault) {
      var reader = try CBORReader(octets[Self.headCount...])
      let key = try reader.value()
      point = try Self.point(key)
      guard !reader.isAtEnd else { return }
      let more = try reader.value()
      guard reader.isAtEnd, let members = more.members, members.allSatisfy({ $0.key.isText }) else {
        throw .trailing
      }
      category = try more["apple_validation_category_01"].map { value throws(CBOR.Fault) in
        try Self.category(value)
      }
      if let version = more["apple_bundle_version_01"] {
        guard case .text(let text) = version else { throw .unsupported }
        build = String(decoding: text, as: UTF8.self)
      }
    } catch {
      throw .malformed
    }
  }

  /// The point of a COSE key (RFC 9053 §7.1), which must be a P-256 key for ES256 without further members.
  private static func point(_ key: CBOR) throws(CBOR.Fault) -> [UInt8] {
    guard key.members?.count == 5, key[.unsigned(1)] == .unsigned(2), key[.unsigned(3)] == .negative(6),
      key[.negative(0)] == .unsigned(1), let x = key[.negative(1)]?.octets, let y = key[.negative(2)]?.octets,
      x.count == 32, y.count == 32
    else { throw .unsupported }
    return [0x04] + x + y
  }

  /// Reads a category from four bytes, the least significant first, or from a number.
  private static func category(_ value: CBOR) throws(CBOR.Fault) -> UInt32 {
    switch value {
    case .unsigned(let number): if let number = UInt32(exactly: number) { return number }
    case .bytes(let octets) where octets.count == 4:
      return octets.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    default: break
    }
    throw .unsupported
  }
}

extension CBOR {
  fileprivate var isText: Bool { if case .text = self { true } else { false } }
}
