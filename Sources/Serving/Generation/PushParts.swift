// The objects for push notifications that survive a reload, and how a configuration uses them.

import Configuration
package import Platform
package import PushDelivery
package import Records
package import Upstream

/// The objects for push notifications that outlive a configuration.
package struct PushParts: Sendable {
  /// The devices and claims.
  package let book: ClaimBook
  /// The push notifications about callbacks.
  package let notices: NoticeBook
  /// The senders that a reload takes over from the previous configuration.
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

  /// Removes the access tokens that this server uses to send push notifications.
  package func forgetTokens() { kept.forgetTokens() }

  /// Removes the recorded failures of providers' token endpoints, so that the next push notification that
  /// needs an access token requests one. For the sandbox.
  package func startAnew() { kept.startAnew() }

  /// Creates the `TokenPush` of a configuration. Without providers it sends nothing, but claims can still be
  /// redeemed.
  func tokenPush(_ notices: Configuration.Notices?) -> TokenPush {
    let notices = notices ?? Configuration.Notices()
    return TokenPush(
      book, self.notices, NoticeSenders(notices, kept, clock: clock, log: log, metrics: metrics),
      texts: notices.texts)
  }
}

extension TransportSettings {
  /// The settings for APNs: one HTTP/2 connection that all push notifications share.
  package static func apns(_ authorities: Authorities?, proxies: ProxySettings?) -> TransportSettings {
    TransportSettings(authorities: authorities, proxies: proxies, multiplexing: Multiplexing())
  }
}
