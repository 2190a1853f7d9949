// The parts of token by push that survive a reload, and what a configuration makes of them.

import Configuration
package import Platform
package import PushDelivery
package import Records
package import Upstream

/// The part of token by push in what outlives a configuration.
package struct PushParts: Sendable {
  /// Devices and claims.
  package let book: ClaimBook
  /// Notices of callbacks.
  package let notices: NoticeBook
  /// The senders of the configuration before.
  let kept: KeptSenders
  let clock: any TimeSource
  let log: Log
  let metrics: ServiceMetrics

  package init(
    book: ClaimBook, notices: NoticeBook, kept: KeptSenders, clock: any TimeSource, log: Log,
    metrics: ServiceMetrics
  ) {
    self.book = book
    self.notices = notices
    self.kept = kept
    self.clock = clock
    self.log = log
    self.metrics = metrics
  }

  /// Forgets the tokens by which this server sends notices.
  package func forgetTokens() { kept.forgetTokens() }

  /// Has providers' token endpoints asked again that failed lately. For the sandbox.
  package func startAnew() { kept.startAnew() }

  /// Token by push under a configuration. One without providers sends nothing, and its claims can still be redeemed.
  func tokenPush(_ notices: Configuration.Notices?) -> TokenPush {
    let notices = notices ?? Configuration.Notices()
    return TokenPush(
      book, self.notices, NoticeSenders(notices, kept, clock: clock, log: log, metrics: metrics),
      texts: notices.texts)
  }
}

extension TransportSettings {
  /// For APNs: one HTTP/2 connection that all notices share.
  package static func apns(_ authorities: Authorities?, proxies: ProxySettings?) -> TransportSettings {
    TransportSettings(authorities: authorities, proxies: proxies, multiplexing: Multiplexing())
  }
}
