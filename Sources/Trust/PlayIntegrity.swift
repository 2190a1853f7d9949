// Checks verdicts of Google's Play Integrity: https://developer.android.com/google/play/integrity/verdicts.

public import JSON
import Texts

/// The app that verdicts must be for, and what they must say.
public struct PlayIntegrityTerms: Sendable {
  /// The minimum integrity of a device, the weakest first. Other labels are ignored.
  public enum Device: String, CaseIterable, Sendable {
    case basic = "MEETS_BASIC_INTEGRITY"
    case device = "MEETS_DEVICE_INTEGRITY"
    case strong = "MEETS_STRONG_INTEGRITY"
  }

  /// Whether the user must have the app from Google Play.
  public enum Licence: String, CaseIterable, Sendable { case any, licensed }

  /// The name of the app's package.
  public let package: String
  /// SHA-256 of each certificate that signs the app, as base64url.
  public let certificates: [String]
  /// The minimum integrity of a device.
  public let device: Device
  public let licence: Licence

  public init(package: String, certificates: [String], device: Device, licence: Licence) {
    self.package = package
    self.certificates = certificates
    self.device = device
    self.licence = licence
  }
}

/// Google's verdict on one request of an app.
public struct PlayIntegrityVerdict: Sendable {
  /// Google's response has no readable verdict.
  public struct Unreadable: Error, Hashable, Sendable {}

  /// Seconds by which Google's clock may be ahead of this server's.
  static let leeway: Int64 = 60

  private let payload: JSONObject
  private let package: String
  private let requestHash: String?
  private let milliseconds: Int64

  /// Reads `tokenPayloadExternal`. Unknown members are ignored.
  public init(_ payload: JSONObject) throws(Unreadable) {
    guard let details = payload["requestDetails"]?.object,
      let package = details["requestPackageName"]?.string,
      let milliseconds = Self.number(details["timestampMillis"])
    else { throw Unreadable() }
    self.payload = payload
    self.package = package
    self.milliseconds = milliseconds
    requestHash = details["requestHash"]?.string
  }

  /// Checks the verdict.
  ///
  /// - Parameters:
  ///   - requestHash: SHA-256 of the client data, as base64url.
  ///   - maximumAge: The maximum age of a verdict, in seconds.
  ///   - now: Seconds since 1970.
  /// - Throws: The first check that fails.
  public func verify(
    requestHash: String, _ terms: PlayIntegrityTerms, maximumAge: Int64, now: Int64
  ) throws(AttestationFault) {
    guard package.hasSameBytes(as: terms.package) else { throw .wrongApp }
    guard self.requestHash?.hasSameBytes(as: requestHash) == true else { throw .wrongNonce }
    guard milliseconds <= (now + Self.leeway) * 1000 else { throw .wrongTime }
    guard milliseconds >= (now - maximumAge) * 1000 else { throw .expired }
    let app = payload["appIntegrity"]
    guard app?["appRecognitionVerdict"] == "PLAY_RECOGNIZED" else { throw .unrecognizedApp }
    guard app?["packageName"]?.string?.hasSameBytes(as: terms.package) == true else { throw .wrongApp }
    let digests = app?["certificateSha256Digest"]?.array ?? []
    guard !digests.isEmpty,
      digests.allSatisfy({ digest in
        digest.string.map { Self.bare($0) }.map { digest in
          terms.certificates.contains { $0.hasSameBytes(as: digest) }
        } ?? false
      })
    else { throw .wrongCertificate }
    let labels = payload["deviceIntegrity"]?["deviceRecognitionVerdict"]?.array ?? []
    let devices = PlayIntegrityTerms.Device.allCases.drop { $0 != terms.device }
    guard labels.contains(where: { label in devices.contains { label == .string($0.rawValue) } }) else {
      throw .weakDevice
    }
    guard payload["testingDetails"]?["isTestingResponse"] != true else { throw .testing }
    guard
      terms.licence == .any || payload["accountDetails"]?["appLicensingVerdict"] == "LICENSED"
    else { throw .unlicensed }
  }

  /// A digest in base64url, without padding.
  private static func bare(_ digest: String) -> String {
    var octets = Array(digest.utf8)
    while octets.last == UInt8(ascii: "=") { octets.removeLast() }
    return String(decoding: octets, as: UTF8.self)
  }

  /// A 64-bit number, which Google writes as a string.
  private static func number(_ value: JSONValue?) -> Int64? {
    if let text = value?.string { return text.utf8.count <= 19 ? Int64(text) : nil }
    return value?.int(in: 0...(1 << 53))
  }
}
