// Checks callback requests to the emulator: token, scope, content type and body.

import HTTP
import Platform

/// Checks requests to `POST /calls/callback`: the token, its scope, the content type and the body, in this
/// order. Pure.
struct CallbackEndpoint: Sendable {
  /// The result of the checks: the token's scopes, and the body or an error.
  struct Judgement: Sendable {
    /// The token's scopes, space-separated; nil if the token is invalid.
    var tokenScope: String?
    /// The valid body, or the error to return.
    var result: Result<CallbackBody, TalkdeskError>
  }

  /// The scope that a token needs for callback requests.
  static let scope = "callback:write"

  let issuer: EmulatedTokenIssuer
  let phoneNumbers: [String]?

  /// Checks a POST. `audience` is the base URL of the Callback API; the token must name it.
  func judge(_ call: Call, audience: String, now: UnixTime) -> Judgement {
    do throws(TalkdeskError) {
      let scopes = try issuer.scopes(of: call, audience: audience, now: now)
      return Judgement(
        tokenScope: scopes.joined(separator: " "),
        result: scopes.contains(Self.scope) ? body(of: call) : .failure(.insufficientScope(Self.scope)))
    } catch {
      return Judgement(result: .failure(error))
    }
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
}

extension TalkdeskError {
  /// The error for a token without the required scope.
  fileprivate static func insufficientScope(_ scope: String) -> TalkdeskError {
    TalkdeskError(
      status: .forbidden, code: "insufficient_scope", message: "The access token lacks a scope",
      description: "\(scope) is required")
  }
}

extension EmulatedTokenIssuer {
  /// The error if a request's token is invalid or lacks a scope; nil if the token allows the request.
  func refusal(of call: Call, scope: String, audience: String, now: UnixTime) -> TalkdeskError? {
    do throws(TalkdeskError) {
      return try scopes(of: call, audience: audience, now: now).contains(scope)
        ? nil : .insufficientScope(scope)
    } catch {
      return error
    }
  }

  /// The scopes of a request's token. Throws a 401 if the token is missing or invalid.
  fileprivate func scopes(of call: Call, audience: String, now: UnixTime) throws(TalkdeskError) -> [String] {
    guard let token = call.credentials(scheme: "bearer") else {
      throw Self.unauthorized(
        call.authorizations.isEmpty ? "No access token" : "The Authorization is not a Bearer token")
    }
    switch read(token, audience: audience, now: now.seconds) {
    case .failure(let failure): throw Self.unauthorized(Self.explanation(of: failure))
    case .success(let reading): return reading.scopes
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
