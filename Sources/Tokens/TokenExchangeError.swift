// The reasons why a token request failed: at Talkdesk ID, at Sendbird, or at the service that signs
// assertions.

public import HTTP

/// The reason why a provider issued no token. The provider is Talkdesk ID or Sendbird. For `signer`, it is
/// Vault or OpenBao.
///
/// All words that come from the provider, such as the code of `refused`, are bounded and printable. They are
/// for logs, not for callers.
public enum TokenExchangeError: Error, Sendable {
  /// A 4xx, usually 400, 401 or 403: the provider does not accept the credential or the scope. `code` is the
  /// error code or text of the response, if it has one. Talkdesk also answers 401 for a scope that is not
  /// granted, and for some minutes after granting it.
  case refused(status: Int, code: String?)
  /// 429. The wait is at most 60 s; nil if the reply has no readable time.
  case rateLimited(retryAfter: Duration?)
  /// A 5xx, a 408, or the status of a Vault standby: the provider responds but is unavailable.
  case unavailable(status: Int, retryAfter: Duration?)
  /// A redirect by the service that signs, which is not followed: the credential is for one host only. `host`
  /// is the host and port of the `Location`, bounded and printable; nil if it has none.
  case redirected(status: Int, host: String?)
  /// Sendbird reports its own failure by an error code.
  case failed(status: Int, code: String?)
  /// A reply that contains no usable result.
  case unusableReply(UnusableReply)
  /// The deadline passed. `sent` is false only if certainly no byte of the request was sent.
  case timedOut(sent: Bool)
  /// No reply: the provider could not be reached, or the connection broke.
  case transport(TransportError)
  /// The assertion could not be signed, with the signer's own words for operators.
  case signingFailed(String)
  /// The service that signs assertions failed; nothing was sent to the provider.
  indirect case signer(TokenExchangeError)

  /// A short fixed word for metrics and logs.
  public var label: String {
    switch self {
    case .refused: "refused"
    case .rateLimited: "rate_limited"
    case .unavailable, .redirected: "unavailable"
    case .failed: "failed"
    case .unusableReply: "unusable_reply"
    case .timedOut: "timed_out"
    case .transport: "unreachable"
    case .signingFailed, .signer: "signing_failed"
    }
  }

  /// The reply's status; 200 stands for every success. Nil if there was no reply or its status is unknown.
  public var status: Int? {
    switch self {
    case .refused(let status, _), .unavailable(let status, _), .redirected(let status, _),
      .failed(let status, _):
      status
    case .rateLimited: 429
    case .unusableReply(.status(let status)): status
    // These replies may not be successes: they were not read, or were not HTTP.
    case .unusableReply(.malformed), .unusableReply(.tooLarge): nil
    case .unusableReply: 200
    case .timedOut, .transport, .signingFailed, .signer: nil
    }
  }

  /// Whether another credential of the same client might be accepted: RFC 6749 §5.2 specifies
  /// `invalid_client` for a failed client authentication, and 401 for nothing else.
  package var speaksAgainstTheCredential: Bool {
    guard case .refused(let status, let code) = self else { return false }
    return code == "invalid_client" || status == 401
  }

  /// Whether the signer of assertions failed, so that no request was sent to the provider.
  public var isOfSigner: Bool { if case .signer = self { true } else { false } }

  /// Whether the deadline ended the request to the provider. False if it ended the signing of the assertion.
  package var isTimeout: Bool { if case .timedOut = self { true } else { false } }

  /// Whether the response says explicitly that client authentication failed (RFC 6749 §5.2).
  package var isInvalidClient: Bool {
    if case .refused(_, "invalid_client") = self { true } else { false }
  }
}

extension TokenExchangeError: CustomStringConvertible {
  /// A description of the error, for operators.
  public var description: String { words(for: "Talkdesk ID") }

  /// A description of the error with the name of the provider.
  package func words(for provider: String) -> String {
    switch self {
    case .refused(let status, let code):
      "\(provider) refused the credential or scope: status \(status)\(code.map { ", error \($0)" } ?? "")"
    case .rateLimited(let wait):
      "\(provider) limits the rate\(wait.map { ", retry after \($0.components.seconds) s" } ?? "")"
    case .unavailable(let status, _): "\(provider) is unavailable: status \(status)"
    case .redirected(let status, let host):
      "\(provider) is unavailable: status \(status), a redirect to \(host ?? "another address")"
    case .failed(let status, let code):
      "\(provider) failed: status \(status)\(code.map { ", error \($0)" } ?? "")"
    case .unusableReply(let reason): "\(provider)'s response is unusable: \(reason)"
    case .timedOut: "\(provider) did not respond in time"
    case .transport(let error): "\(provider) was not reached: \(error)"
    case .signingFailed(let detail): "the client assertion could not be signed: \(detail)"
    case .signer(.refused(let status, let words)):
      "the signer refused: status \(status)\(words.map { ", \($0)" } ?? "")"
    case .signer(.signingFailed(let detail)): "the signer cannot be used: \(detail)"
    case .signer(let error): error.words(for: "the signer")
    }
  }
}

/// The fault of a response from the token endpoint, from Sendbird, or from the service that signs assertions.
public enum UnusableReply: Error, Hashable, Sendable {
  /// A status that is neither success nor one of the known failures; 404 usually means a wrong account name.
  case status(Int)
  /// Success without content.
  case empty
  /// A response that is not HTTP.
  case malformed
  /// Content beyond the limit.
  case tooLarge
  /// Success with compressed content, and the name of the coding.
  case compressed(String)
  /// Success with content that is not a JSON object.
  case notJSON
  /// No `access_token`, or not a string, or an empty one. At Sendbird: a required value is missing, such as
  /// `token`.
  case noToken
  /// A token of more than 8192 octets (at Sendbird: 4096), or with anything but visible ASCII, which a header
  /// field cannot contain.
  case malformedToken
  /// A `token_type` other than Bearer, which would need another way of sending it.
  case tokenType
  /// A stated lifetime of less than a second: the token was expired on arrival.
  case expired
  /// A `scope` without a word that was requested. The word is bounded and printable.
  case scope(missing: String)
  /// The reply took so long that the token's remaining life is too short to vend it.
  case late
  /// A signer's success without a signature.
  case notASignature
  /// A signer's success without a key.
  case notAKey
  /// A signer's success at a login, without a token.
  case notALogin
  /// A signature that the public key does not verify, or that another version of the key made.
  case wrongSignature
}

extension UnusableReply: CustomStringConvertible {
  public var description: String {
    switch self {
    case .status(404): "status 404; is the account name right?"
    case .status(let status): "status \(status)"
    case .empty: "no content"
    case .malformed: "not HTTP"
    case .tooLarge: "too large"
    case .compressed(let coding):
      "compressed (Content-Encoding: \(coding)), and the server requested no compression"
    case .notJSON: "not a JSON object"
    case .noToken: "no access_token"
    case .malformedToken: "an access_token that a header cannot have"
    case .tokenType: "a token_type other than Bearer"
    case .expired: "a token that has already expired"
    case .scope(let missing): "the token lacks the scope \(missing)"
    case .late: "it came after the deadline"
    case .notASignature: "no signature"
    case .notAKey: "no key"
    case .notALogin: "no token for the login (auth.client_token)"
    case .wrongSignature: "a signature that the public key does not verify"
    }
  }
}
