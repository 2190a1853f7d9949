// Tests of which Play Integrity verdicts are accepted, and of the fault reported for each other one.

import JSON
import Testing

@testable import Trust

@Suite struct PlayIntegrityTests {
  private static let now: Int64 = 1_795_000_000
  private static let terms = PlayIntegrityTerms(
    package: "com.example.shop", certificates: ["AAAA", "BBBB"], device: .device, licence: .any)

  private static let payload: JSONObject = [
    "requestDetails": [
      "requestPackageName": "com.example.shop", "requestHash": "hash", "timestampMillis": "1795000000000",
    ],
    "appIntegrity": [
      "appRecognitionVerdict": "PLAY_RECOGNIZED", "packageName": "com.example.shop",
      "certificateSha256Digest": ["AAAA"], "versionCode": "42",
    ],
    "deviceIntegrity": ["deviceRecognitionVerdict": ["MEETS_BASIC_INTEGRITY", "MEETS_DEVICE_INTEGRITY"]],
    "accountDetails": ["appLicensingVerdict": "UNEVALUATED"],
  ]

  /// The payload with one member of one of its objects changed; nil removes it.
  private static func changed(_ part: String, _ name: String, _ value: JSONValue?) -> JSONObject {
    var payload = payload
    var object = payload[part]?.object ?? JSONObject()
    object[name] = value
    payload[part] = .object(object)
    return payload
  }

  private func fault(_ payload: JSONObject, _ terms: PlayIntegrityTerms = terms) throws -> AttestationFault? {
    let verdict = try PlayIntegrityVerdict(payload)
    do throws(AttestationFault) {
      try verdict.verify(requestHash: "hash", terms, maximumAge: 300, now: Self.now)
      return nil
    } catch {
      return error
    }
  }

  private func fault(_ part: String, _ name: String, _ value: JSONValue?) throws -> AttestationFault? {
    try fault(Self.changed(part, name, value))
  }

  @Test func `a verdict on the app passes, with members that are not known`() throws {
    #expect(try fault(Self.payload) == nil)
    #expect(try fault("environmentDetails", "playProtectVerdict", "HIGH_RISK") == nil)
    #expect(try fault("requestDetails", "timestampMillis", 1_795_000_000_000) == nil)
    #expect(try fault("appIntegrity", "certificateSha256Digest", ["BBBB=", "AAAA"]) == nil)
  }

  @Test func `another package or another request is refused`() throws {
    #expect(try fault("requestDetails", "requestPackageName", "com.example.other") == .wrongApp)
    #expect(try fault("requestDetails", "requestHash", "hashh") == .wrongNonce)
    #expect(try fault("requestDetails", "requestHash", nil) == .wrongNonce)
  }

  @Test func `a verdict is good for max_age`() throws {
    #expect(try fault("requestDetails", "timestampMillis", "1794999700000") == nil)
    #expect(try fault("requestDetails", "timestampMillis", "1794999699999") == .expired)
    #expect(try fault("requestDetails", "timestampMillis", "1795000060000") == nil)
    #expect(try fault("requestDetails", "timestampMillis", "1795000060001") == .wrongTime)
  }

  @Test func `an app that Google Play does not recognize is refused`() throws {
    for word in ["UNRECOGNIZED_VERSION", "UNEVALUATED", "UNKNOWN", "play_recognized", ""] {
      #expect(try fault("appIntegrity", "appRecognitionVerdict", .string(word)) == .unrecognizedApp)
    }
    #expect(try fault("appIntegrity", "appRecognitionVerdict", nil) == .unrecognizedApp)
    #expect(try fault("appIntegrity", "packageName", "com.example.other") == .wrongApp)
    #expect(try fault("appIntegrity", "packageName", nil) == .wrongApp)
  }

  @Test func `an app that somebody else has signed is refused`() throws {
    for digests in [nil, [], ["CCCC"], ["AAAA", "CCCC"], [1], "AAAA"] as [JSONValue?] {
      #expect(try fault("appIntegrity", "certificateSha256Digest", digests) == .wrongCertificate)
    }
  }

  @Test func `a device that meets too little is refused`() throws {
    for labels in [nil, [], ["MEETS_BASIC_INTEGRITY"], ["MEETS_VIRTUAL_INTEGRITY"], "MEETS_DEVICE_INTEGRITY"]
      as [JSONValue?]
    {
      #expect(try fault("deviceIntegrity", "deviceRecognitionVerdict", labels) == .weakDevice)
    }
    #expect(try fault("deviceIntegrity", "deviceRecognitionVerdict", ["MEETS_STRONG_INTEGRITY"]) == nil)
    func meets(_ device: PlayIntegrityTerms.Device, _ label: JSONValue) throws -> AttestationFault? {
      try fault(
        Self.changed("deviceIntegrity", "deviceRecognitionVerdict", [label]),
        PlayIntegrityTerms(package: "com.example.shop", certificates: ["AAAA"], device: device, licence: .any)
      )
    }
    #expect(try meets(.basic, "MEETS_BASIC_INTEGRITY") == nil)
    #expect(try meets(.strong, "MEETS_STRONG_INTEGRITY") == nil)
    #expect(try meets(.strong, "MEETS_DEVICE_INTEGRITY") == .weakDevice)
  }

  @Test func `a verdict for tests is refused`() throws {
    #expect(try fault("testingDetails", "isTestingResponse", true) == .testing)
    #expect(try fault("testingDetails", "isTestingResponse", false) == nil)
  }

  @Test func `a licence is asked for where the terms say so`() throws {
    let terms = PlayIntegrityTerms(
      package: "com.example.shop", certificates: ["AAAA"], device: .device, licence: .licensed)
    for word in ["UNLICENSED", "UNEVALUATED", "UNKNOWN"] {
      #expect(
        try fault(Self.changed("accountDetails", "appLicensingVerdict", .string(word)), terms) == .unlicensed)
    }
    #expect(try fault(Self.changed("accountDetails", "appLicensingVerdict", nil), terms) == .unlicensed)
    #expect(try fault(Self.changed("accountDetails", "appLicensingVerdict", "LICENSED"), terms) == nil)
  }

  @Test(arguments: ["requestPackageName", "timestampMillis"])
  func `what has no details of its request is no verdict`(_ name: String) {
    for value in [nil, .null, [], "x"] as [JSONValue?] where name != "requestPackageName" || value != "x" {
      #expect(throws: PlayIntegrityVerdict.Unreadable()) {
        try PlayIntegrityVerdict(Self.changed("requestDetails", name, value))
      }
    }
    #expect(throws: PlayIntegrityVerdict.Unreadable()) { try PlayIntegrityVerdict(JSONObject()) }
  }
}
