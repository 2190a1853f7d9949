// Reads the answer of a policy that runs in another process.

/// The answer of a remote policy.
public enum RemoteAnswer: Hashable, Sendable {
  case allow
  /// The reason is for the audit line only.
  case deny(reason: String?)
  /// No usable answer: none in time, an error, or a document that is neither true nor false. The cause is for
  /// operators.
  case failed(because: String)

  /// The failure of a response that is neither true nor false.
  public static let undecided = RemoteAnswer.failed(because: "its response is neither true nor false")

  /// The failure of a policy that was not queried.
  public static let notAsked = RemoteAnswer.failed(because: "it got no query")

  /// Reads an answer: `true`, `false` or `{"allow": true, "reason": "…"}`, bare or under `result`.
  public init(reading document: FactValue) {
    var answer = document
    if case .object = document, let result = document["result"] {
      // A document with both `allow` and `result` could mean either.
      guard document["allow"] == nil else {
        self = .undecided
        return
      }
      answer = result
    }
    switch answer {
    case .bool(let allowed): self = allowed ? .allow : .deny(reason: nil)
    case .object:
      guard case .bool(let allowed)? = answer["allow"] else {
        self = .undecided
        return
      }
      var reason: String?
      if case .string(let text)? = answer["reason"] { reason = text }
      self = allowed ? .allow : .deny(reason: reason)
    default: self = .undecided
    }
  }

  /// Reads an AuthZEN evaluation: `decision`, and the operators' reason in `context.reason_admin`. The reason
  /// is a text or an object of texts by language, of which `en` is preferred.
  init(readingEvaluation document: FactValue) {
    guard case .bool(let allowed)? = document["decision"] else {
      self = .undecided
      return
    }
    var reason = document["context"]?["reason_admin"]
    if case .object(let texts)? = reason { reason = reason?["en"] ?? texts.first?.value }
    guard !allowed, case .string(let text)? = reason else {
      self = allowed ? .allow : .deny(reason: nil)
      return
    }
    self = .deny(reason: text)
  }
}
