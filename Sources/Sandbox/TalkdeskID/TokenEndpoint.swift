// Checks requests to the emulated token endpoint: form, client authentication and scopes.

import HTTP
import Platform
import Texts

/// Checks requests to `POST /oauth/token`. Pure, except for the memory of used `jti`s that is passed in.
struct TokenEndpoint: Sendable {
  /// The contents of the token that a valid request gets.
  struct Grant: Hashable, Sendable {
    /// The scopes of the token, in the order they were granted to the client.
    var scopes: [String]
  }

  /// The result of the checks: the token, or why the request is refused.
  struct Judgement: Sendable {
    /// How the client authenticated, or tried to.
    var client = ClientAuthenticator.Outcome(method: .none)
    /// The `scope` parameter as sent.
    var requestedScope: String?
    /// The granted token, or the refusal.
    var result: Result<Grant, TokenRefusal>
  }

  /// The longest accepted `scope`, in bytes.
  static let maximumScopeLength = 1024

  private(set) var authenticator: ClientAuthenticator
  let grantedScopes: [String]
  /// More scopes of the client. A token has them only if the request names them.
  private static let scopesOnRequest =
    EmulatorConfiguration.liveScopes + EmulatorConfiguration.reportScopes
    + EmulatorConfiguration.screeningScopes
    + [EmulatorConfiguration.triggerScope]
  /// Whether a request for some of the scopes gets all of them, as at the real account that the facts come
  /// from.
  let grantsAll: Bool

  init(_ configuration: EmulatorConfiguration) {
    authenticator = ClientAuthenticator(configuration)
    grantedScopes = configuration.facts?.scopes ?? configuration.grantedScopes
    grantsAll = configuration.facts != nil
  }

  /// A copy that does not accept the keys with these IDs.
  func forgetting(_ keyIDs: Set<String>) -> Self {
    var copy = self
    copy.authenticator = authenticator.forgetting(keyIDs)
    return copy
  }

  /// A copy that checks assertions with a clock that is 2 s behind, without leeway.
  func withStrictClock() -> Self {
    var copy = self
    copy.authenticator = authenticator.withStrictClock()
    return copy
  }

  /// Checks a POST. `isFirstUse` returns whether a `jti` is new, and remembers it.
  func judge(
    _ call: Call, audience: String, now: UnixTime, isFirstUse: (AssertionVerifier.Verified) -> Bool
  ) -> Judgement {
    guard call.hasContent(ofType: "application/x-www-form-urlencoded") else {
      let refusal = TokenRefusal(
        status: .unsupportedMediaType, error: "invalid_request",
        explanation: "the content type is not application/x-www-form-urlencoded")
      return Judgement(result: .failure(refusal))
    }
    let form: Form
    do {
      form = try Form(decoding: call.content)
    } catch {
      return Judgement(result: .failure(.invalidRequest(Self.explanation(of: error))))
    }
    var judgement = Judgement(requestedScope: form["scope"], result: .success(Grant(scopes: [])))
    judgement.result = result(call, form, audience, now, isFirstUse, client: &judgement.client)
    return judgement
  }

  private func result(
    _ call: Call, _ form: Form, _ audience: String, _ now: UnixTime,
    _ isFirstUse: (AssertionVerifier.Verified) -> Bool, client: inout ClientAuthenticator.Outcome
  ) -> Result<Grant, TokenRefusal> {
    guard let grantType = form["grant_type"] else {
      return .failure(.invalidRequest("grant_type is missing"))
    }
    guard grantType.hasSameBytes(as: "client_credentials") else {
      return .failure(.unsupportedGrantType("grant_type is not client_credentials"))
    }
    client = authenticator.authenticate(call, form, audience: audience, now: now, isFirstUse: isFirstUse)
    if let refusal = client.refusal { return .failure(refusal) }
    return scopes(form["scope"])
  }

  private func scopes(_ requested: String?) -> Result<Grant, TokenRefusal> {
    guard let requested else { return .success(Grant(scopes: grantedScopes)) }
    let tokens = requested.split(separator: " ", omittingEmptySubsequences: false)
    let isWellFormed =
      requested.utf8.count <= Self.maximumScopeLength
      && tokens.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(Self.isScopeOctet) }
    guard isWellFormed else { return .failure(.malformedScope("scope is not a list of scope tokens")) }
    let grantable = grantedScopes + Self.scopesOnRequest
    guard tokens.allSatisfy({ grantable.contains(String($0)) }) else {
      return .failure(.scopeNotGranted("a requested scope is not granted to this client"))
    }
    let granted = grantsAll ? grantedScopes : grantedScopes.filter { tokens.contains(Substring($0)) }
    return .success(
      Grant(scopes: granted + Self.scopesOnRequest.filter { tokens.contains(Substring($0)) }))
  }

  /// `scope-token` of RFC 6749 §3.3.
  private static func isScopeOctet(_ octet: UInt8) -> Bool {
    octet == 0x21 || (0x23...0x5B).contains(octet) || (0x5D...0x7E).contains(octet)
  }

  private static func explanation(of problem: Form.Problem) -> String {
    switch problem {
    case .malformedEscape: "the content has a malformed percent-encoding"
    case .unescapedOctet: "the content has an octet that must be percent-encoded"
    case .notUTF8: "the content is not UTF-8"
    case .duplicate: "a parameter is included more than once"
    case .tooMany: "the content has too many parameters"
    }
  }
}
