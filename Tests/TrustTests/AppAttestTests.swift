// Tests of which App Attest attestations are valid, and of the fault reported for each other one.

import JOSE
import Testing

@testable import Trust

/// A phone whose attestation can be wrong in every possible way.
struct FakePhone {
  /// A root certificate, and one authority below it.
  struct Authority: Sendable {
    let root: X509Certificate
    let intermediate: X509Certificate
    let rootKey: PrivateKey
    let key: PrivateKey

    init(constraints: String = "CA:TRUE,pathlen:0", validity: ClosedRange<Int64> = FakePhone.always) throws {
      rootKey = try PrivateKey.generate(for: .ES384)
      key = try PrivateKey.generate(for: .ES384)
      root = try X509Certificate.issue(
        .init(
          name: "root", key: rootKey.publicKey, validity: FakePhone.always, constraints: "CA:TRUE",
          usage: "keyCertSign"),
        by: "root", with: rootKey)
      intermediate = try X509Certificate.issue(
        .init(
          name: "ca", key: key.publicKey, validity: validity, constraints: constraints, usage: "keyCertSign"),
        by: "root", with: rootKey)
    }
  }

  static let always: ClosedRange<Int64> = 1_600_000_000...2_300_000_000
  static let now: Int64 = 1_795_000_000
  static let authority = Result { try Authority() }

  var authority: Authority
  var appID = "ABCDE12345.com.example.shop"
  var clientDataHash = SHA256.digest(Array("client data".utf8))
  var flags: UInt8 = 0x40
  var counter: UInt8 = 0
  var identifier = "appattest\0\0\0\0\0\0\0"
  var credentialID: [UInt8]
  var credentialCount: [UInt8] = [0, 32]
  var coseKey: [UInt8]
  /// The bytes after the key.
  var rest: [UInt8] = []
  var key: PublicKey
  var constraints = "CA:FALSE"
  var validity = FakePhone.now - 100...FakePhone.now + 100
  var extensions: ([UInt8]) -> [(oid: String, value: [UInt8])] = { nonce in
    [(AppAttestation.nonceExtension, AppAttestation.noncePrefix + nonce)]
  }
  var format = "apple-appattest"
  /// The certificate chain, leaf first.
  var chain: (X509Certificate, Authority) -> [[UInt8]] = { [$0.der, $1.intermediate.der] }

  init() throws {
    authority = try Self.authority.get()
    key = try PrivateKey.generate(for: .ES256).publicKey
    let point = Array(key.subjectPublicKeyInfo.suffix(65))
    credentialID = SHA256.digest(point)
    coseKey = Self.cose(point).encoded
  }

  static func cose(_ point: [UInt8]) -> CBOR {
    .map([
      .init(.unsigned(1), .unsigned(2)), .init(.unsigned(3), .negative(6)), .init(.negative(0), .unsigned(1)),
      .init(.negative(1), .bytes(Array(point[1..<33]))), .init(.negative(2), .bytes(Array(point[33...]))),
    ])
  }

  var keyID: [UInt8] { SHA256.digest(Array(key.subjectPublicKeyInfo.suffix(65))) }
  var authenticatorData: [UInt8] {
    SHA256.digest(Array(appID.utf8)) + [flags, 0, 0, 0, counter] + Array(identifier.utf8) + credentialCount
      + credentialID + coseKey + rest
  }

  func leaf() throws -> X509Certificate {
    var content = X509Certificate.Content(
      name: "leaf", key: key, validity: validity, constraints: constraints, usage: "digitalSignature")
    content.extensions = extensions(SHA256.digest(authenticatorData + clientDataHash))
    return try X509Certificate.issue(content, by: "ca", with: authority.key)
  }

  func members() throws -> [CBOR.Member] {
    [
      .init(.text("fmt"), .text(format)),
      .init(
        .text("attStmt"),
        .map([
          .init(.text("x5c"), .array(try chain(leaf(), authority).map { .bytes($0) })),
          .init(.text("receipt"), .bytes([1])),
        ])), .init(.text("authData"), .bytes(authenticatorData)),
    ]
  }

  func object() throws -> [UInt8] { CBOR.map(try members()).encoded }
}

@Suite struct AppAttestTests {
  private static func policy(
    _ environments: Set<AppAttestPolicy.Environment> = [.production], categories: Set<UInt32> = [2, 4],
    root: X509Certificate? = nil
  ) throws -> AppAttestPolicy {
    AppAttestPolicy(
      environments: environments, categories: categories, root: try root ?? FakePhone.authority.get().root)
  }
  private static let terms = AppAttestTerms(
    appID: "ABCDE12345.com.example.shop", atLeast: BuildNumber("2.3.0"))

  private func fault(
    _ object: [UInt8], keyID: [UInt8], hash: [UInt8] = SHA256.digest(Array("client data".utf8)),
    policy: AppAttestPolicy? = nil, terms: AppAttestTerms = terms, now: Int64 = FakePhone.now
  ) throws -> AttestationFault? {
    let policy = try policy ?? Self.policy()
    do throws(AttestationFault) {
      try AppAttestation(parsing: object).verify(
        keyID: keyID, clientDataHash: hash, terms, policy, now: now)
      return nil
    } catch {
      return error
    }
  }

  private func fault(_ change: (inout FakePhone) throws -> Void) throws -> AttestationFault? {
    var phone = try FakePhone()
    try change(&phone)
    return try fault(phone.object(), keyID: phone.keyID)
  }

  @Test(arguments: AppAttestSample.phones) func `attestations of real phones hold`(_ sample: AppAttestSample)
    throws
  {
    func fault(
      keyID: [UInt8]? = nil, hash: [UInt8]? = nil,
      _ environments: Set<AppAttestPolicy.Environment> = [.development],
      appID: String? = nil, later seconds: Int64 = 0
    ) throws -> AttestationFault? {
      try self.fault(
        sample.object, keyID: keyID ?? sample.keyID, hash: hash ?? sample.clientDataHash,
        policy: Self.policy(environments, root: AppAttestPolicy.appleRoot),
        terms: AppAttestTerms(appID: appID ?? sample.appID, atLeast: nil), now: sample.time + seconds)
    }
    #expect(try fault() == nil)
    #expect(try fault([.production]) == .wrongEnvironment)
    #expect(try fault([.production, .development]) == nil)
    #expect(try fault(appID: sample.appID + "x") == .wrongApp)
    #expect(try fault(hash: sample.clientDataHash.reversed()) == .wrongNonce)
    #expect(try fault(keyID: sample.keyID.reversed()) == .wrongKey)
    // The certificates are valid for three days.
    #expect(try fault(later: 3 * 86_400) == .expired)
    #expect(try fault(later: -3 * 86_400) == .wrongTime)
    // The samples' root is not the one used in tests.
    #expect(
      try self.fault(sample.object, keyID: sample.keyID, hash: sample.clientDataHash, now: sample.time)
        == .badSignature)
  }

  @Test func `the attestation of Apple's documentation tells build and category`() throws {
    let sample = AppAttestSample.apple
    func fault(_ categories: Set<UInt32>, atLeast: String? = nil) throws -> AttestationFault? {
      try self.fault(
        sample.object, keyID: sample.keyID, hash: sample.clientDataHash,
        policy: Self.policy(categories: categories, root: AppAttestPolicy.appleRoot),
        terms: AppAttestTerms(appID: sample.appID, atLeast: atLeast.flatMap { BuildNumber($0) }),
        now: sample.time)
    }
    // The sample has category 1, a part of the system, and build 1.
    #expect(try fault([1]) == nil)
    #expect(try fault([2, 4]) == .wrongCategory)
    #expect(try fault([1], atLeast: "1") == nil)
    #expect(try fault([1], atLeast: "1.0.1") == .oldApp)
  }

  @Test func `a phone of iOS 26 and one of iOS 27 pass`() throws {
    #expect(try fault { _ in } == nil)
    #expect(try fault { $0.rest = Self.told(build: "2.3", category: .bytes([4, 0, 0, 0])) } == nil)
    #expect(try fault { $0.rest = Self.told(build: "10", category: .unsigned(2)) } == nil)
    // The extension flag is ignored.
    #expect(try fault { $0.flags = 0xC0 } == nil)
    // macOS sends more members.
    #expect(
      try fault { $0.rest = CBOR.map([.init(.text("apple_other_01"), .array([.null]))]).encoded } == nil)
  }

  private static func told(build: String, category: CBOR) -> [UInt8] {
    CBOR.map([
      .init(.text("apple_bundle_version_01"), .text(build)),
      .init(.text("apple_validation_category_01"), category),
    ]).encoded
  }

  @Test func `a category that is not allowed is refused`() throws {
    for number in [1, 3, 5, 6, 10] as [UInt8] {
      #expect(
        try fault { $0.rest = Self.told(build: "3", category: .bytes([number, 0, 0, 0])) } == .wrongCategory)
    }
    // The category is little-endian, and this one is not.
    #expect(try fault { $0.rest = Self.told(build: "3", category: .bytes([0, 0, 0, 4])) } == .wrongCategory)
  }

  @Test func `an old build is refused, and one that cannot be read`() throws {
    for build in ["2.2.9", "2", "0", "", "3.x", "-1"] {
      #expect(try fault { $0.rest = Self.told(build: build, category: .unsigned(4)) } == .oldApp, "\(build)")
    }
  }

  @Test func `a map of iOS 27 with other types is refused`() throws {
    #expect(try fault { $0.rest = Self.told(build: "3", category: .bytes([4, 0, 0])) } == .malformed)
    #expect(try fault { $0.rest = Self.told(build: "3", category: .unsigned(1 << 32)) } == .malformed)
    #expect(try fault { $0.rest = Self.told(build: "3", category: .text("4")) } == .malformed)
    #expect(
      try fault { $0.rest = CBOR.map([.init(.text("apple_bundle_version_01"), .unsigned(3))]).encoded }
        == .malformed)
    #expect(try fault { $0.rest = CBOR.map([.init(.unsigned(1), .unsigned(3))]).encoded } == .malformed)
    #expect(try fault { $0.rest = CBOR.array([]).encoded } == .malformed)
    #expect(try fault { $0.rest = Self.told(build: "3", category: .unsigned(4)) + [0] } == .malformed)
  }

  // MARK: The object

  @Test func `every octet that is missing, and one too many, is refused`() throws {
    let phone = try FakePhone()
    let object = try phone.object()
    for count in object.indices {
      #expect(try fault(Array(object[..<count]), keyID: phone.keyID) == .malformed, "\(count)")
    }
    #expect(try fault(object + [0], keyID: phone.keyID) == .malformed)
    #expect(try fault(object + [UInt8](repeating: 0, count: 16_384), keyID: phone.keyID) == .malformed)
  }

  @Test func `an object with other keys is refused`() throws {
    let phone = try FakePhone()
    let members = try phone.members()
    func fault(_ members: [CBOR.Member]) throws -> AttestationFault? {
      try self.fault(CBOR.map(members).encoded, keyID: phone.keyID)
    }
    #expect(try fault(members) == nil)
    #expect(try fault(members + [.init(.text("x"), .null)]) == .malformed)
    #expect(try fault(members + [members[0]]) == .malformed)
    for index in members.indices {
      var fewer = members
      fewer.remove(at: index)
      #expect(try fault(fewer) == .malformed)
      fewer.append(.init(members[index].key, .null))
      #expect(try fault(fewer) == .malformed)
    }
    #expect(try self.fault { $0.format = "apple-appattestation" } == .malformed)
    let statement = try #require(members[1].value.members)
    for changed in [[statement[0]], [statement[1]], statement + [.init(.text("x"), .null)]] {
      #expect(try fault([members[0], .init(members[1].key, .map(changed)), members[2]]) == .malformed)
    }
  }

  // MARK: The chain

  @Test func `a chain of another length, or without the intermediate, is refused`() throws {
    #expect(try fault { $0.chain = { leaf, _ in [leaf.der] } } == .malformed)
    #expect(try fault { $0.chain = { [$0.der, $1.intermediate.der, $1.root.der] } } == .malformed)
    #expect(try fault { $0.chain = { leaf, _ in [leaf.der, leaf.der] } } == .badSignature)
    #expect(try fault { $0.chain = { [$0.der, $1.root.der] } } == .badSignature)
    #expect(try fault { $0.chain = { [$1.intermediate.der, $0.der] } } == .badSignature)
    #expect(try fault { $0.chain = { [$0.der + [0], $1.intermediate.der] } } == .malformed)
    #expect(try fault { $0.chain = { leaf, _ in [leaf.der, []] } } == .malformed)
  }

  @Test func `another root is refused`() throws {
    let other = try FakePhone.Authority()
    #expect(try fault { $0.authority = other } == .badSignature)
    // The other authority's intermediate has the same name.
    #expect(try fault { $0.chain = { leaf, _ in [leaf.der, other.intermediate.der] } } == .badSignature)
  }

  @Test func `a leaf that may issue others is refused`() throws {
    #expect(try fault { $0.constraints = "CA:TRUE" } == .badSignature)
  }

  @Test func `an intermediate that may issue none is refused`() throws {
    let authority = try FakePhone.Authority(constraints: "CA:FALSE")
    var phone = try FakePhone()
    phone.authority = authority
    #expect(
      try fault(phone.object(), keyID: phone.keyID, policy: Self.policy(root: authority.root))
        == .badSignature)
  }

  @Test func `certificates that have expired, or are not valid yet, are refused`() throws {
    #expect(try fault { $0.validity = 1_700_000_000...FakePhone.now - 1 } == .expired)
    #expect(try fault { $0.validity = FakePhone.now + 1...1_900_000_000 } == .wrongTime)
    let authority = try FakePhone.Authority(validity: 1_600_000_000...FakePhone.now - 1)
    var phone = try FakePhone()
    phone.authority = authority
    #expect(
      try fault(phone.object(), keyID: phone.keyID, policy: Self.policy(root: authority.root)) == .expired)
  }

  @Test func `a leaf with a key of another curve is refused`() throws {
    #expect(try fault { $0.key = try PrivateKey.generate(for: .ES384).publicKey } == .badSignature)
  }

  // MARK: The nonce

  @Test func `a wrong nonce, none, or one in another form is refused`() throws {
    #expect(try fault { $0.clientDataHash[0] ^= 1 } == .wrongNonce)
    #expect(try fault { $0.extensions = { _ in [] } } == .wrongNonce)
    #expect(
      try fault { $0.extensions = { [("1.2.840.113635.100.8.3", AppAttestation.noncePrefix + $0)] } }
        == .wrongNonce)
    #expect(try fault { $0.extensions = { [(AppAttestation.nonceExtension, $0)] } } == .wrongNonce)
    #expect(
      try fault {
        $0.extensions = { [(AppAttestation.nonceExtension, AppAttestation.noncePrefix + $0 + [0])] }
      }
        == .wrongNonce)
    // The extension may occur only once.
    #expect(
      try fault {
        $0.extensions = { nonce in
          let one = (AppAttestation.nonceExtension, AppAttestation.noncePrefix + nonce)
          return [one, one]
        }
      } == .wrongNonce)
  }

  @Test func `every octet of the authenticator data is signed`() throws {
    let phone = try FakePhone()
    var members = try phone.members()
    let data = phone.authenticatorData
    for index in data.indices {
      var changed = data
      changed[index] ^= 1
      members[2] = .init(.text("authData"), .bytes(changed))
      let found = try fault(CBOR.map(members).encoded, keyID: phone.keyID)
      #expect(found == .wrongNonce || found == .malformed, "\(index)")
    }
  }

  // MARK: The rest, in order

  @Test func `another key is refused`() throws {
    let phone = try FakePhone()
    #expect(try fault(phone.object(), keyID: FakePhone().keyID) == .wrongKey)
    #expect(try fault(phone.object(), keyID: []) == .wrongKey)
    #expect(try fault(phone.object(), keyID: phone.keyID + [0]) == .wrongKey)
    let point = Array(try PrivateKey.generate(for: .ES256).publicKey.subjectPublicKeyInfo.suffix(65))
    #expect(try fault { $0.coseKey = FakePhone.cose(point).encoded } == .wrongKey)
  }

  @Test func `another form of the key is refused`() throws {
    let point = Array(try FakePhone().key.subjectPublicKeyInfo.suffix(65))
    let members = try #require(FakePhone.cose(point).members)
    for index in members.indices {
      var changed = members
      changed[index] = .init(members[index].key, .unsigned(7))
      #expect(try fault { $0.coseKey = CBOR.map(changed).encoded } == .malformed)
      changed.remove(at: index)
      #expect(try fault { $0.coseKey = CBOR.map(changed).encoded } == .malformed)
    }
    #expect(try fault { $0.coseKey = CBOR.map(members + [.init(.unsigned(9), .null)]).encoded } == .malformed)
    #expect(try fault { $0.coseKey = [] } == .malformed)
  }

  @Test func `another app is refused`() throws {
    #expect(try fault { $0.appID = "ABCDE12345.com.example.other" } == .wrongApp)
  }

  @Test func `a key that was used is refused`() throws {
    #expect(try fault { $0.counter = 1 } == .wrongCounter)
  }

  @Test func `an app from Xcode, and one from nowhere, is refused`() throws {
    #expect(try fault { $0.identifier = "appattestdevelop" } == .wrongEnvironment)
    #expect(try fault { $0.identifier = "appattestsandbox" } == .wrongEnvironment)
    var phone = try FakePhone()
    phone.identifier = "appattestdevelop"
    #expect(try fault(phone.object(), keyID: phone.keyID, policy: Self.policy([.development])) == nil)
    #expect(
      try fault(FakePhone().object(), keyID: phone.keyID, policy: Self.policy([.development])) == .wrongKey)
  }

  @Test func `another credential is refused`() throws {
    #expect(try fault { $0.credentialID[31] ^= 1 } == .wrongKey)
    #expect(try fault { $0.credentialCount = [0, 31] } == .malformed)
    #expect(try fault { $0.credentialCount = [1, 32] } == .malformed)
  }

  @Test func `data without an attested credential are refused`() throws {
    #expect(try fault { $0.flags = 0 } == .malformed)
    #expect(try fault { $0.flags = 0x80 } == .malformed)
  }

  // MARK: Settings

  @Test func `builds are compared by their numbers`() {
    func atLeast(_ one: String, _ other: String) -> Bool {
      BuildNumber(one).flatMap { one in BuildNumber(other).map { one.isAtLeast($0) } } ?? false
    }
    #expect(atLeast("2.10", "2.9") && !atLeast("2.9", "2.10"))
    #expect(atLeast("2", "2.0.0") && atLeast("2.0.0", "2") && !atLeast("2", "2.0.1") && atLeast("2.0.1", "2"))
    #expect(atLeast("999999999", "1.2.3.4"))
    for text in ["", ".", "1.", "1..2", "1.2.3.4.5", "1234567890", "a", "1 "] {
      #expect(BuildNumber(text) == nil, "\(text)")
    }
  }

  @Test func `Apple's root is the one that is meant`() {
    #expect(
      Hex.encode(SHA256.digest(AppAttestPolicy.appleRoot.der))
        == "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932")
  }
}
