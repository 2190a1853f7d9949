// The parts of token by push that survive a reload, and what a configuration makes of them.

import Configuration
import HTTP
import Platform
import PushDelivery
import Records
import Upstream

/// The part of token by push in what outlives a configuration.
struct PushParts: Sendable {
  /// Devices and claims.
  let book: ClaimBook
  /// Carries notices to FCM and to web hooks.
  let transport: any HTTPTransport
  /// Makes a transport for APNs alone; nil if that fails.
  let connect: @Sendable () -> (any HTTPTransport)?
  let clock: any TimeSource
  let log: Log
  let metrics: ServiceMetrics

  /// Token by push under a configuration. One without providers sends nothing, and its claims can still be redeemed.
  func tokenPush(_ notices: Configuration.Notices?) -> TokenPush {
    let notices = notices ?? Configuration.Notices()
    return TokenPush(
      book,
      NoticeSenders(
        notices, transport: transport, connect: connect, clock: clock, log: log, metrics: metrics),
      text: notices.texts.access)
  }
}

extension TransportSettings {
  /// For APNs: one HTTP/2 connection that all notices share.
  static func apns(_ authorities: Authorities?, proxies: ProxySettings?) -> TransportSettings {
    TransportSettings(authorities: authorities, proxies: proxies, multiplexing: Multiplexing())
  }
}
