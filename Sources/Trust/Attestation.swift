// The ways to attest that a request comes from a genuine app, and the result of checking one.

/// The service whose attestation an app sends.
public enum AttestationType: String, CaseIterable, Sendable {
  /// A token of Firebase App Check.
  case appCheck = "app_check"
  /// An attestation of Apple's App Attest.
  case appAttest = "app_attest"
  /// A token of Google's Play Integrity.
  case playIntegrity = "play_integrity"
}

/// Whether attestations are checked, and whether a request without a valid one is refused.
public enum AttestationMode: String, CaseIterable, Sendable {
  /// Attestations are not checked.
  case off
  /// Results are counted, and nothing is refused.
  case audit
  /// A request without a valid attestation is refused.
  case enforce
}

/// The reason why an attestation is invalid. The raw value is the word in metrics and audit lines.
public enum AttestationFault: String, CaseIterable, Error, Sendable {
  /// The attestation cannot be read, Google refuses to read it, or there are several.
  case malformed
  /// The token is signed by another algorithm than the one of its type.
  case wrongAlgorithm = "wrong_algorithm"
  /// The token names no key, or a key that is not the issuer's.
  case unknownKey = "unknown_key"
  /// The signature is wrong, or the certificates do not lead to the root certificate.
  case badSignature = "bad_signature"
  /// Another issuer or project made the token.
  case wrongIssuer = "wrong_issuer"
  /// The token is for another project.
  case wrongAudience = "wrong_audience"
  /// The attestation has expired.
  case expired
  /// The attestation is not valid yet, or is valid for longer than its issuer allows.
  case wrongTime = "wrong_time"
  /// The attestation belongs to another app.
  case wrongApp = "wrong_app"
  /// The token was used before: in another request for an installation, or at another server of the Firebase
  /// project.
  case replayed
  /// The challenge has expired, was used, or is not one of this server for this app.
  case badChallenge = "bad_challenge"
  /// The attestation was made for another request.
  case wrongNonce = "wrong_nonce"
  /// The attested key is not the one that the app named.
  case wrongKey = "wrong_key"
  /// The attested key was used before.
  case wrongCounter = "wrong_counter"
  /// The app was installed from another source than allowed, such as Xcode instead of the App Store.
  case wrongEnvironment = "wrong_environment"
  /// Apple validated the app in a way that is not allowed.
  case wrongCategory = "wrong_category"
  /// The app is older than allowed.
  case oldApp = "old_app"
  /// The attested key belongs to another installation.
  case keyInUse = "key_in_use"
  /// Google Play does not know the app as it is installed, such as one that was signed again.
  case unrecognizedApp = "unrecognized_app"
  /// The app is signed with another certificate.
  case wrongCertificate = "wrong_certificate"
  /// The device meets less than the required integrity: it is rooted, or an emulator.
  case weakDevice = "weak_device"
  /// The verdict was made for tests.
  case testing
  /// The user does not have the app from Google Play.
  case unlicensed

  /// The types of attestation that can have this fault.
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

/// The reason why an attestation cannot be checked now. The raw value is the word in metrics and audit lines.
public enum AttestationOutage: String, CaseIterable, Error, Sendable {
  /// The issuer's keys are missing, or too old.
  case keys
  /// Google does not respond, or fails.
  case unreachable
  /// Google's quota is used up. Also, for an app that does not enforce attestations: this server's limit for
  /// the client's address is used up.
  case quota
  /// Google refuses this server's account.
  case refused
  /// Google's response cannot be read.
  case nonsense
}

/// The result of checking the attestation of one request.
public enum AttestationResult: Hashable, Sendable {
  case passed
  /// The request has no attestation.
  case missing
  case failed(AttestationFault)
  /// The attestation cannot be checked now.
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

  /// The reason, as a word; nil if `word` says everything.
  public var reason: String? {
    switch self {
    case .passed, .missing: nil
    case .failed(let fault): fault.rawValue
    case .unavailable(let outage): outage.rawValue
    }
  }

  /// Every result except the failed ones.
  public static let others =
    [.passed, .missing] + AttestationOutage.allCases.map { AttestationResult.unavailable($0) }
  public static let every = others + AttestationFault.allCases.map { AttestationResult.failed($0) }

  /// Every result that a type of attestation can have, for counters whose series exist from the start.
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
