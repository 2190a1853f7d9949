// Passes events of the token source to the log and the metrics.

package import Platform
package import Records
package import Tokens

/// Logs and counts the events of the token source.
package final class TokenWatch: TokenSourceObserver {
  let log: TokenLog
  let metrics: ServiceMetrics
  let clock: any TimeSource

  package init(log: Log, metrics: ServiceMetrics, clock: any TimeSource) {
    self.log = TokenLog(log: log)
    self.metrics = metrics
    self.clock = clock
  }

  package func tokenCache(_ outcome: TokenCacheOutcome, scope: String, lane: Int?) {
    metrics.tokenCache(outcome, lane: lane)
  }

  package func credentialChanged(_ status: CredentialStatus) { log.credentialChanged(status) }

  package func tokenRequest(_ report: TokenRequestReport) {
    log.tokenRequest(report)
    var success: UnixTime?
    switch report.outcome {
    case .success: success = clock.unixTime
    case .failure(let error) where error.isOfProvider: metrics.troubles.began(.talkdeskID, at: clock.unixTime)
    case .failure: break
    }
    metrics.asked(.talkdeskID, outcome: report.label, took: report.duration, success: success)
  }
}
