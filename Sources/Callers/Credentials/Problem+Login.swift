// The problems of logins that the server refuses.

package import API
import HTTP
import Platform

extension Problem {
  /// Too many logins of an address have failed.
  package static func tooManyLogins(_ wait: Duration) -> Problem {
    Problem(
      .rateLimited, "Too many failed logins from this address.",
      tryAgainAfter: wait.wholeSecondsRoundedUp)
  }

  /// An installation was revoked, or got another secret, after it had proved the one it has: as any wrong password.
  package static var revoked: Problem {
    var problem = Problem(
      .unauthenticated,
      "This installation was revoked or enrolled again, so no call was requested. Send its current credentials."
    )
    problem.responseFields.append("WWW-Authenticate", Authenticator.basicChallenge)
    return problem
  }

  /// The same for a request that waited for something else than a call.
  package static var ended: Problem {
    var problem = Problem(
      .unauthenticated, "This installation was revoked or enrolled again. Send its current credentials.")
    problem.responseFields.append("WWW-Authenticate", Authenticator.basicChallenge)
    return problem
  }

  /// The store cannot be asked for an installation.
  package static var noInstallations: Problem {
    Problem(.storeUnavailable, "The server cannot check this credential right now.", tryAgainAfter: 1)
  }
}
