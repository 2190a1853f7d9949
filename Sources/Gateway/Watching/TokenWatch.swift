// Passes events of the token source to the log and the metrics.

import Platform
import Records
import Tokens

/// Logs and counts the events of the token source.
struct TokenWatch: TokenSourceObserver {
  let log: TokenLog
  let metrics: ServiceMetrics
  let clock: any TimeSource

  func tokenCache(_ outcome: TokenCacheOutcome, scope: String, lane: Int?) {
    metrics.tokenCache(outcome, lane: lane)
  }

  func credentialChanged(_ status: CredentialStatus) { log.credentialChanged(status) }

  func tokenRequest(_ report: TokenRequestReport) {
    log.tokenRequest(report)
    var success: UnixTime?
    if case .success = report.outcome { success = clock.unixTime }
    metrics.asked(.talkdeskID, outcome: report.label, took: report.duration, success: success)
  }
}
