// The problems that callers get when a rule refuses; a remote policy's own reason is left out.

package import Gate
import Platform

extension Problem {
  /// A remote policy was not asked, since more requests wait for it than it can answer.
  package static func policyOverloaded(retryAfter wait: Duration) -> Problem {
    Problem(
      .overloaded,
      "Too many requests are waiting for a policy service. Try again later.",
      retryAfter: wait.wholeSecondsRoundedUp)
  }

  /// Remote policies took all the time that the request has.
  package static var policiesTooLate: Problem {
    Problem(.upstreamTimeout, "The policy services did not respond in time, so nothing was done. Try again.")
  }

  /// The operator's kill switch.
  package static var stopped: Problem {
    Problem(.stopped, "The operator has stopped these requests for now.")
  }

  /// A name that no app has.
  package static var noApp: Problem { Problem(.unknownApp, "This server has no app of this name.") }

  /// The problem a denial is to a caller.
  package init(_ denial: Denial) {
    self.init(
      Code(denial.code), Self.detail(of: denial.code, nextOpen: denial.nextOpen?.rfc3339),
      retryAfter: denial.retryAfter.map { Int(clamping: $0) })
    rule = denial.rule
    nextOpen = denial.nextOpen?.rfc3339
    if let status = denial.status { responseFields.append(allowances: [status]) }
  }

  /// The words of a denial.
  /// - Parameter opening: When the gate opens next, RFC 3339.
  package static func detail(of code: DenialCode, nextOpen opening: String? = nil) -> String {
    switch code {
    case .closed: opening.map { "It opens again at \($0)." } ?? "No later opening hours are configured."
    case .denied: "A rule of this server does not allow this request."
    case .numberNotAllowed: "This server does not call numbers of this kind."
    case .rateLimited: "There were too many requests. Retry after the time in Retry-After."
    case .quotaExhausted: "The quota of this period is used up. Retry after the time in Retry-After."
    case .storeUnavailable:
      "The server cannot check the limits right now. Retry after the time in Retry-After."
    case .noAgents: "No agent is available now. Retry after the time in Retry-After."
    case .stopped: stopped.detail
    case .unauthenticated: "Send credentials."
    case .unknownApp: noApp.detail
    }
  }
}

extension Problem.Code {
  /// The code of a denial.
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
      case .stopped: .stopped
      case .unauthenticated: .unauthenticated
      case .unknownApp: .unknownApp
      }
  }
}
