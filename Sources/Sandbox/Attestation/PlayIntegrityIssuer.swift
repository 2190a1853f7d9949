// The emulated Play Integrity: valid and invalid tokens of Android phones, and the verdicts in them.

import HTTP
import JOSE
import JSON
import Synchronization
import Texts

/// Makes Play Integrity tokens and decodes them. It generates its keys when it first needs them, and does not
/// save them.
final class PlayIntegrityIssuer: Sendable {
  /// The scope that an access token needs to decode Play Integrity tokens.
  static let scope = "https://www.googleapis.com/auth/playintegrity"

  /// The faults that a test can request in a token.
  enum Fault: String, CaseIterable {
    /// Google did not make the token.
    case badSignature = "bad_signature"
    /// Somebody else re-signed the app.
    case wrongApp = "wrong_app"
    /// The token is two hours old.
    case old
    /// The app's last token without a fault, again. If there is none, a new token without a fault.
    case replayed
    /// The verdict is a test response.
    case development
    /// The device is rooted.
    case jailbroken
    /// The user does not have the app from Google Play.
    case noLicence = "no_licence"
  }

  private let signer = DeferredSigner { () throws(KeyError) in
    try Signer(key: .generate(for: .ES256), algorithm: .ES256)
  }
  private let foreign = DeferredSigner { () throws(KeyError) in
    try Signer(key: .generate(for: .ES256), algorithm: .ES256)
  }
  private let last = Mutex<[ExactText: JSONValue]>([:])
  /// The maximum number of apps whose last token is remembered. At the limit, the next token forgets them
  /// all.
  private static let most = 256

  /// Makes the `attestation` member that a phone would send.
  ///
  /// - Parameters:
  ///   - app: The name of an app, or a package.
  ///   - clientData: The data whose hash the phone sends to Google.
  ///   - challenge: The challenge in `clientData`.
  ///   - now: Seconds since the epoch.
  func attestation(
    _ app: String, of apps: AttestedApps, clientData: String, challenge: String, _ fault: Fault?, now: Int64
  ) throws -> JSONValue {
    let known = apps.android[ExactText(app)] ?? apps.android.values.first { $0.package.hasSameBytes(as: app) }
    let package = known?.package ?? app
    if fault == .replayed, let attestation = last.withLock({ $0[ExactText(package)] }) { return attestation }
    let certificate =
      fault == .wrongApp
      ? Base64URL.encode(SHA256.digest([0]))
      : known?.certificates.first ?? Base64URL.encode(SHA256.digest([]))
    let seconds = fault == .old ? now - 7200 : now
    var payload: JSONObject = [
      "requestDetails": [
        "requestPackageName": .string(package), "timestampMillis": .string("\(seconds)000"),
        "requestHash": .string(Base64URL.encode(SHA256.digest(Array(clientData.utf8)))),
      ],
      "appIntegrity": [
        "appRecognitionVerdict": fault == .wrongApp ? "UNRECOGNIZED_VERSION" : "PLAY_RECOGNIZED",
        "packageName": .string(package), "certificateSha256Digest": [.string(certificate)],
        "versionCode": "42",
      ],
      "deviceIntegrity": fault == .jailbroken
        ? [:] : ["deviceRecognitionVerdict": ["MEETS_BASIC_INTEGRITY", "MEETS_DEVICE_INTEGRITY"]],
      "accountDetails": ["appLicensingVerdict": fault == .noLicence ? "UNLICENSED" : "LICENSED"],
    ]
    if fault == .development { payload["testingDetails"] = ["isTestingResponse": true] }
    let token = try JWS.sign(
      header: ["alg": "ES256"], payload: payload.serialized(),
      with: fault == .badSignature ? foreign.get() : signer.get())
    let attestation: JSONValue = [
      "type": "play_integrity", "token": .string(token), "challenge": .string(challenge),
    ]
    if fault == nil {
      last.withLock { last in
        if last.count >= Self.most { last = [:] }
        last[ExactText(package)] = attestation
      }
    }
    return attestation
  }

  /// The verdict in a token. Nil if another issuer made the token, or if it is for another package.
  private func verdict(_ token: String, of package: String) -> JSONValue? {
    guard let parsed = try? JWS.Compact(parsing: Array(token.utf8)), let signer = try? signer.get(),
      parsed.verify(with: signer.key.publicKey, algorithm: .ES256),
      let payload = try? JSONValue(parsing: parsed.payload),
      payload["requestDetails"]?["requestPackageName"] == .string(package)
    else { return nil }
    return payload
  }

  // MARK: The API

  /// The package in a path of `decodeIntegrityToken`; nil for any other path.
  static func package(in path: String) -> String? {
    let (start, end) = ("/v1/", ":decodeIntegrityToken")
    guard path.hasPrefix(start), path.hasSuffix(end) else { return nil }
    return String(path.dropFirst(start.count).dropLast(end.count))
  }

  /// `POST /v1/{package}:decodeIntegrityToken`
  func decode(_ call: Call, package: String, scopes: [String]?) -> Reply {
    guard call.method == .post else { return .googleError(.methodNotAllowed, "INVALID_ARGUMENT") }
    guard let scopes else { return .googleError(.unauthorized, "UNAUTHENTICATED") }
    guard scopes.contains(Self.scope) else { return .googleError(.forbidden, "PERMISSION_DENIED") }
    guard let body = try? JSONValue(parsing: call.content), let token = body["integrityToken"]?.string,
      let verdict = verdict(token, of: package)
    else { return .googleError(.badRequest, "INVALID_ARGUMENT") }
    return .json(.ok, (["tokenPayloadExternal": verdict] as JSONValue).serialized())
  }
}

extension Reply {
  /// An error in Google's envelope.
  static func googleError(_ status: Status, _ name: String) -> Reply {
    let error: JSONValue = [
      "error": [
        "code": .number(JSONNumber(Int64(status.code))), "message": "The sandbox refuses this.",
        "status": .string(name),
      ]
    ]
    return .json(status, error.serialized())
  }
}
