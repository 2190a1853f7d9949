// Judges callback requests to the emulator: token, scope, content type and body.

import HTTP
import Platform

/// Judges requests to `POST /calls/callback`: the token, its scope, the content type and the body, in this order. Pure.
struct CallbackEndpoint: Sendable {
  /// The content of a request, and whether it makes a call.
  struct Judgement: Sendable {
    /// The scopes of its token, space-separated, once the token is known to be good.
    var tokenScope: String?
    /// The verdict.
    var result: Result<CallbackBody, TalkdeskError>
  }

  /// The scope a token needs.
  static let scope = "callback:write"

  let issuer: EmulatedTokenIssuer
  let phoneNumbers: [String]?

  /// Judges a POST. `audience` is this API's own base URL.
  func judge(_ call: Call, audience: String, now: UnixTime) -> Judgement {
    guard let token = call.credentials(scheme: "bearer") else {
      let explanation =
        call.authorizations.isEmpty ? "No access token" : "The Authorization is not a Bearer token"
      return Judgement(result: .failure(Self.unauthorized(explanation)))
    }
    let scopes: [String]
    switch issuer.read(token, audience: audience, now: now.seconds) {
    case .failure(let failure):
      return Judgement(result: .failure(Self.unauthorized(Self.explanation(of: failure))))
    case .success(let reading):
      scopes = reading.scopes
    }
    var judgement = Judgement(
      tokenScope: scopes.joined(separator: " "),
      result: .failure(
        TalkdeskError(
          status: .forbidden, code: "insufficient_scope", message: "The access token lacks a scope",
          description: "\(Self.scope) is required")))
    if scopes.contains(Self.scope) { judgement.result = body(of: call) }
    return judgement
  }

  private func body(of call: Call) -> Result<CallbackBody, TalkdeskError> {
    guard call.hasContent(ofType: "application/json") else {
      return .failure(
        TalkdeskError(
          status: .unsupportedMediaType, code: "unsupported_media_type",
          message: "The content type is not application/json"))
    }
    do throws(TalkdeskError) {
      return .success(try CallbackBody(parsing: call.content, phoneNumbers: phoneNumbers))
    } catch {
      return .failure(error)
    }
  }

  private static func unauthorized(_ explanation: String) -> TalkdeskError {
    TalkdeskError(status: .unauthorized, code: "unauthorized", message: explanation)
  }

  private static func explanation(of failure: EmulatedTokenIssuer.Failure) -> String {
    switch failure {
    case .malformed: "The access token is malformed"
    case .notIssuedHere: "The access token was not issued here"
    case .wrongAudience: "The access token is for another API"
    case .expired: "The access token has expired"
    case .notYetValid: "The access token is not valid yet"
    }
  }
}
