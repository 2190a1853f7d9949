// The problems of logins that the server refuses.

package import API
import HTTP
import Platform

extension Problem {
  /// The problem if too many failed logins, wrong tokens or proofs came from an address.
  package static func tooManyLogins(_ wait: Duration) -> Problem {
    Problem(
      .rateLimited, "Too many failed logins from this address.",
      tryAgainAfter: wait.wholeSecondsRoundedUp)
  }

  /// The problem of a request for a call, if its installation was revoked or got another secret after it had
  /// authenticated. The status is that of a wrong password.
  package static var revoked: Problem {
    var problem = Problem(
      .unauthenticated,
      "This installation was revoked or enrolled again, so no call was requested. Send its current credentials."
    )
    problem.responseFields.append("WWW-Authenticate", Authenticator.basicChallenge)
    return problem
  }

  /// The same as `revoked`, for a request that waited for something other than a call.
  package static var ended: Problem {
    var problem = Problem(
      .unauthenticated, "This installation was revoked or enrolled again. Send its current credentials.")
    problem.responseFields.append("WWW-Authenticate", Authenticator.basicChallenge)
    return problem
  }

  /// The problem if the server cannot read an installation from the store.
  package static var noInstallations: Problem {
    Problem(.storeUnavailable, "The server cannot check this credential right now.", tryAgainAfter: 1)
  }
}
