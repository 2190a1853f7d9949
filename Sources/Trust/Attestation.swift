// The ways to attest that a request comes from a genuine app, and the result of judging one.

/// What an app proves itself with.
public enum AttestationType: String, CaseIterable, Sendable {
  /// A token of Firebase App Check.
  case appCheck = "app_check"
  /// An attestation of Apple's App Attest.
  case appAttest = "app_attest"
  /// A token of Google's Play Integrity.
  case playIntegrity = "play_integrity"
}

/// Whether attestations are judged, and what becomes of a request without a good one.
public enum AttestationMode: String, CaseIterable, Sendable {
  /// They are not judged.
  case off
  /// They are counted, and nothing is refused.
  case audit
  /// A request without a good one is refused.
  case enforce
}

/// Why an attestation does not hold. The raw value is the word in metrics and audit lines.
public enum AttestationFault: String, CaseIterable, Error, Sendable {
  /// It cannot be read, or there are several.
  case malformed
  /// It is signed by an algorithm other than the one that its type has.
  case wrongAlgorithm = "wrong_algorithm"
  /// It names no key, or a key that is not the issuer's.
  case unknownKey = "unknown_key"
  /// The signature is wrong.
  case badSignature = "bad_signature"
  /// Another issuer or project made it.
  case wrongIssuer = "wrong_issuer"
  /// It is for another project.
  case wrongAudience = "wrong_audience"
  /// Its time is over.
  case expired
  /// Its time has not begun, or it lives longer than its issuer lets one live.
  case wrongTime = "wrong_time"
  /// It is another app's.
  case wrongApp = "wrong_app"
  /// It has authorized an installation before.
  case replayed
  /// Its challenge is over, was used, or is not this server's.
  case badChallenge = "bad_challenge"
  /// It was made for another request.
  case wrongNonce = "wrong_nonce"
  /// The key that it attests is not the one that the app has named.
  case wrongKey = "wrong_key"
  /// Its key was used before.
  case wrongCounter = "wrong_counter"
  /// The app comes from somewhere else: from Xcode and not from the App Store, say.
  case wrongEnvironment = "wrong_environment"
  /// Apple has validated the app in another way.
  case wrongCategory = "wrong_category"
  /// The app is older than allowed.
  case oldApp = "old_app"
  /// Its key belongs to another installation.
  case keyInUse = "key_in_use"
  /// Google Play does not know the app as it is installed: it was signed anew, say.
  case unrecognizedApp = "unrecognized_app"
  /// Somebody else has signed the app.
  case wrongCertificate = "wrong_certificate"
  /// The device meets less than it has to: it is rooted, or an emulator.
  case weakDevice = "weak_device"
  /// The verdict was made for tests.
  case testing
  /// The user does not have the app from Google Play.
  case unlicensed

  /// The types that it is one of.
  var types: [AttestationType] {
    switch self {
    case .malformed, .expired, .wrongTime, .wrongApp: AttestationType.allCases
    case .badSignature: [.appCheck, .appAttest]
    case .badChallenge, .wrongNonce: [.appAttest, .playIntegrity]
    case .wrongAlgorithm, .unknownKey, .wrongIssuer, .wrongAudience, .replayed: [.appCheck]
    case .wrongKey, .wrongCounter, .wrongEnvironment, .wrongCategory, .oldApp, .keyInUse: [.appAttest]
    case .unrecognizedApp, .wrongCertificate, .weakDevice, .testing, .unlicensed: [.playIntegrity]
    }
  }
}

/// Why an attestation cannot be judged at the moment. The raw value is the word in metrics and audit lines.
public enum AttestationOutage: String, CaseIterable, Error, Sendable {
  /// The issuer's keys are missing, or too old.
  case keys
  /// Google does not answer.
  case unreachable
  /// Google's quota is used up.
  case quota
  /// Google refuses this server's account.
  case refused
  /// Google's answer cannot be read.
  case nonsense
}

/// The result of judging the attestation of one request.
public enum AttestationResult: Hashable, Sendable {
  case passed
  /// The request has none.
  case missing
  case failed(AttestationFault)
  /// It cannot be judged at the moment.
  case unavailable(AttestationOutage)

  /// The word in metrics and audit lines.
  public var word: String {
    switch self {
    case .passed: "passed"
    case .missing: "missing"
    case .failed: "failed"
    case .unavailable: "unavailable"
    }
  }

  /// More about it, as a word; nil where `word` says all.
  public var reason: String? {
    switch self {
    case .passed, .missing: nil
    case .failed(let fault): fault.rawValue
    case .unavailable(let outage): outage.rawValue
    }
  }

  /// Every result but the failed ones.
  public static let others =
    [.passed, .missing] + AttestationOutage.allCases.map { AttestationResult.unavailable($0) }
  /// Every result.
  public static let every = others + AttestationFault.allCases.map { AttestationResult.failed($0) }

  /// Every result that a type has, for counters whose series are there from the start.
  public static func all(of type: AttestationType) -> [AttestationResult] {
    let outages: [AttestationOutage] =
      switch type {
      case .appCheck: AttestationOutage.allCases
      case .appAttest: []
      case .playIntegrity: AttestationOutage.allCases.filter { $0 != .keys }
      }
    return [.passed, .missing] + outages.map { .unavailable($0) }
      + AttestationFault.allCases.filter { $0.types.contains(type) }.map { .failed($0) }
  }
}
