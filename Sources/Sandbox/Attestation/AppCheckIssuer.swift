// The emulated Firebase App Check: valid and invalid tokens for any app of one project, and the keys that
// verify them.

import HTTP
import JOSE
import JSON
import Synchronization
import Texts

/// Signs App Check tokens. It generates its keys when it first needs them, and does not save them.
final class AppCheckIssuer: Sendable {
  /// The path of the public key set.
  static let keysPath = "/appcheck/v1/jwks"
  private static let keyID = "sandbox"

  /// The faults that a test can request in a token.
  enum Fault: String, CaseIterable {
    /// Another key signed the token.
    case badSignature = "bad_signature"
    /// The token is for another app of the same project.
    case wrongApp = "wrong_app"
    /// The token has expired.
    case old
    /// The app's last token without a fault, again. If there is none, a new token without a fault.
    case replayed
  }

  private let signer = DeferredSigner { () throws(KeyError) in
    try Signer(key: .generate(for: .RS256, rsaBits: 2048), algorithm: .RS256)
  }
  private let foreign = DeferredSigner { () throws(KeyError) in
    try Signer(key: .generate(for: .RS256, rsaBits: 2048), algorithm: .RS256)
  }
  private let last = Mutex<[ExactText: String]>([:])
  private let consumed = Mutex<Set<SHA256Digest>>([])
  /// The maximum number of consumed tokens to remember. At the limit, the next request forgets them all.
  private static let mostConsumed = 65_536
  /// The scope that an access token needs to consume App Check tokens.
  static let scope = "https://www.googleapis.com/auth/firebase"
  /// The maximum number of apps whose last token is remembered. At the limit, the next token forgets them
  /// all.
  private static let mostApps = 256

  // MARK: Consuming

  /// Whether a path is the one for consuming a token.
  static func consumes(_ path: String) -> Bool {
    path.hasPrefix("/v1beta/projects/") && path.hasSuffix(":verifyAppCheckToken")
  }

  /// `POST /v1beta/projects/{project}:verifyAppCheckToken`
  func consume(_ call: Call, scopes: [String]?) -> Reply {
    guard call.method == .post else { return .googleError(.methodNotAllowed, "INVALID_ARGUMENT") }
    guard let scopes else { return .googleError(.unauthorized, "UNAUTHENTICATED") }
    guard scopes.contains(Self.scope) else { return .googleError(.forbidden, "PERMISSION_DENIED") }
    guard let body = try? JSONValue(parsing: call.content), let token = body["appCheckToken"]?.string,
      let parsed = try? JWS.Compact(parsing: Array(token.utf8)), let signer = try? signer.get(),
      parsed.verify(with: signer.key.publicKey, algorithm: .RS256)
    else { return .googleError(.badRequest, "INVALID_ARGUMENT") }
    let isNew = consumed.withLock { consumed in
      if consumed.count >= Self.mostConsumed { consumed = [] }
      return consumed.insert(SHA256Digest(of: Array(token.utf8))).inserted
    }
    return .json(.ok, Array((isNew ? "{}" : #"{"alreadyConsumed":true}"#).utf8))
  }

  /// The public key as a JWK set.
  func keys() throws(KeyError) -> [UInt8] {
    var key = try signer.get().key.publicKey.jwk()
    key["kid"] = .string(Self.keyID)
    key["use"] = "sig"
    key["alg"] = "RS256"
    return (["keys": [.object(key)]] as JSONValue).serialized()
  }

  /// Makes a token.
  ///
  /// - Parameters:
  ///   - app: The name of an app, or a Firebase app id.
  ///   - now: Seconds since the epoch.
  func token(_ app: String, of apps: AttestedApps, _ fault: Fault?, now: Int64) throws -> String {
    let id = apps.firebase[ExactText(app)] ?? app
    if fault == .replayed, let token = last.withLock({ $0[ExactText(id)] }) { return token }
    let issuedAt = fault == .old ? now - 7200 : now
    let claims: JSONObject = [
      "iss": .string("https://firebaseappcheck.googleapis.com/\(apps.project.number)"),
      "aud": [.string("projects/\(apps.project.number)"), .string("projects/\(apps.project.id)")],
      "sub": .string(fault == .wrongApp ? "1:\(apps.project.number):web:another" : id),
      "iat": .number(JSONNumber(issuedAt)), "exp": .number(JSONNumber(issuedAt + 3600)),
      "jti": .string(Identifier.random()),
    ]
    let token = try JWS.sign(
      header: ["alg": "RS256", "kid": .string(Self.keyID), "typ": "JWT"], payload: claims.serialized(),
      with: fault == .badSignature ? foreign.get() : signer.get())
    if fault == nil {
      last.withLock { last in
        if last.count >= Self.mostApps { last = [:] }
        last[ExactText(id)] = token
      }
    }
    return token
  }
}
