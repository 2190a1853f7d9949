// The problems that callers get when a rule refuses; a remote policy's own reason is left out.

package import Gate
import Platform

extension Problem {
  /// A remote policy was not asked, since more requests wait for it than it can answer.
  package static func policyOverloaded(retryAfter wait: Duration) -> Problem {
    Problem(
      .overloaded,
      "This server has more requests for a policy service than can end in time. Try again later.",
      retryAfter: wait.wholeSecondsRoundedUp)
  }

  /// Remote policies took all the time that the request has.
  package static var policiesTooLate: Problem {
    Problem(.upstreamTimeout, "The policy services did not answer in time. Nothing was done. Try again.")
  }

  /// The operator's kill switch.
  package static var stopped: Problem {
    Problem(.stopped, "The operator has stopped this for the time being.")
  }

  /// The problem a denial is to a caller.
  package init(_ denial: Denial) {
    self.init(
      Code(denial.code), Self.detail(of: denial), retryAfter: denial.retryAfter.map { Int(clamping: $0) })
    rule = denial.rule
    nextOpen = denial.nextOpen?.rfc3339
    if let status = denial.status { responseFields.append(allowances: [status]) }
  }

  private static func detail(of denial: Denial) -> String {
    switch denial.code {
    case .closed:
      denial.nextOpen.map { "It opens again at \($0.rfc3339)." } ?? "It does not open again."
    case .denied: "A rule of this server does not allow this request."
    case .numberNotAllowed: "Callbacks are not made to numbers of this kind."
    case .rateLimited: "Requests come faster than they are allowed to; wait as Retry-After says."
    case .quotaExhausted: "All requests of this period are used up; wait as Retry-After says."
    case .storeUnavailable: "Usage cannot be checked right now. Retry after the time in Retry-After."
    case .stopped: stopped.detail
    case .unauthenticated: "Credentials are needed."
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
      case .stopped: .stopped
      case .unauthenticated: .unauthenticated
      }
  }
}
