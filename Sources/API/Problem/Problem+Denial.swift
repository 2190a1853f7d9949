// The problems that callers get when a rule refuses; a remote policy's own reason is left out.

package import Gate
import Platform

extension Problem {
  /// The problem if a remote policy was not queried, because more requests wait for it than it can answer.
  package static func policyOverloaded(retryAfter wait: Duration) -> Problem {
    Problem(
      .overloaded,
      "Too many requests are waiting for a policy service.",
      tryAgainAfter: wait.wholeSecondsRoundedUp)
  }

  /// The problem if remote policies used up all the time of the request.
  package static var policiesTooLate: Problem {
    Problem(
      .upstreamTimeout, "A policy service did not respond in time, so the server did nothing. Try again.")
  }

  /// The problem if the operator's kill switch has stopped these requests.
  package static var stopped: Problem {
    Problem(.stopped, "The operator has paused these requests.")
  }

  /// The problem if no app has the name in the request.
  package static var noApp: Problem { Problem(.unknownApp, "This server has no app with this name.") }

  /// The problem returned for a denial.
  package init(_ denial: Denial) {
    self.init(denial.code, nextOpen: denial.nextOpen?.rfc3339, after: denial.retryAfter)
    switch denial.code {
    case .numberNotProven:
      accepts = denial.options
      detail += accepts.compactMap { Self.ways[$0] }.map { " \($0)" }.joined()
    case .consentRequired:
      texts = denial.options
      detail += " Accepted texts: \(texts.joined(separator: ", "))."
    default: break
    }
    rule = denial.publicRule
    ownRule = denial.rule
    nextOpen = denial.nextOpen?.rfc3339
    if let status = denial.status { responseFields.append(allowances: [status]) }
  }

  /// The app's action for each value of `accepts`.
  private static let ways = [
    "claim": "Sign the user in with an account that has this number.",
    "proof": "Verify the number on this phone and send the proof in number_proof.",
  ]

  /// Creates the problem of a denial, without the rule's name.
  ///
  /// - Parameters:
  ///   - opening: When the server next accepts requests, RFC 3339.
  ///   - seconds: The seconds until a retry can succeed.
  package init(_ denied: DenialCode, nextOpen opening: String? = nil, after seconds: Int64? = nil) {
    let (code, seconds) = (Code(denied), seconds.map { Int(clamping: $0) })
    switch denied {
    case .closed: self.init(code, Self.closing(nextOpen: opening), retryAfter: seconds)
    case .denied: self.init(code, "A rule on this server does not allow this request.", retryAfter: seconds)
    case .numberNotAllowed:
      self.init(code, "This server does not call numbers of this kind.", retryAfter: seconds)
    case .rateLimited: self.init(code, "Too many requests.", tryAgainAfter: seconds)
    case .quotaExhausted: self.init(code, "The quota for this period is used up.", tryAgainAfter: seconds)
    case .storeUnavailable:
      self.init(code, "The server cannot check the limits right now.", tryAgainAfter: seconds)
    case .numberNotProven:
      self.init(code, "This server calls only numbers that are proven to be the caller's.")
    case .consentRequired:
      self.init(code, "Ask the customer to agree to be called, and send consent with the text and the time.")
    case .overloaded:
      self.init(code, "The server cannot accept more proofs right now.", tryAgainAfter: seconds)
    case .upstreamUnavailable:
      self.init(code, "The server cannot check this phone number right now.", tryAgainAfter: seconds)
    case .noAgents: self.init(code, "No agent is available right now.", tryAgainAfter: seconds)
    case .stopped: self.init(code, Self.stopped.detail, retryAfter: seconds)
    case .unauthenticated: self.init(code, "Send credentials.", retryAfter: seconds)
    case .unknownApp: self.init(code, Self.noApp.detail, retryAfter: seconds)
    }
  }

  /// The text that says when the server opens next.
  package static func closing(nextOpen opening: String?) -> String {
    opening.map { "Closed now. Opens at \($0)." } ?? "Closed, and no later opening hours are configured."
  }
}

extension Problem.Code {
  /// The problem code of a denial.
  package init(_ code: DenialCode) {
    self =
      switch code {
      case .closed: .closed
      case .denied: .denied
      case .numberNotAllowed: .numberNotAllowed
      case .rateLimited: .rateLimited
      case .quotaExhausted: .quotaExhausted
      case .storeUnavailable: .storeUnavailable
      case .noAgents: .noAgents
      case .numberNotProven: .numberNotProven
      case .consentRequired: .consentRequired
      case .overloaded: .overloaded
      case .upstreamUnavailable: .upstreamUnavailable
      case .stopped: .stopped
      case .unauthenticated: .unauthenticated
      case .unknownApp: .unknownApp
      }
  }
}
