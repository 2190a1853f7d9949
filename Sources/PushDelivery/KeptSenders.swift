// Keeps the senders of notices across reloads, with their connections and provider tokens.

import Configuration
package import HTTP
import Notices
package import Platform
import Synchronization

/// The senders that the last configuration had. A reload makes another one only where its settings have changed: APNs takes quick
/// opening and closing of connections for an attack.
package final class KeptSenders: Sendable {
  private struct State {
    var fcm: (settings: FCMSettings, sender: FCMSender)?
    var apns: (settings: APNsSettings, sender: APNsSender)?
  }

  private let transport: any HTTPTransport
  private let connect: @Sendable () -> (any HTTPTransport)?
  private let clock: any TimeSource
  private let state = Mutex(State())

  /// - Parameters:
  ///   - transport: carries notices to FCM and to webhooks.
  ///   - connect: makes a transport for APNs alone, over one HTTP/2 connection; nil if that fails.
  package init(
    transport: any HTTPTransport, connect: @escaping @Sendable () -> (any HTTPTransport)?,
    clock: any TimeSource
  ) {
    self.transport = transport
    self.connect = connect
    self.clock = clock
  }

  /// Forgets the tokens of all providers.
  package func forgetTokens() {
    let (fcm, apns) = state.withLock { ($0.fcm?.sender, $0.apns?.sender) }
    fcm?.forgetTokens()
    apns?.forgetTokens()
  }

  /// Has providers' token endpoints asked again that failed lately.
  package func startAnew() { state.withLock { $0.fcm?.sender }?.startAnew() }

  /// The senders of a configuration. Those of the configuration before that it does not need are dropped.
  func senders(_ notices: Configuration.Notices) -> [PushPlatform: any NoticeSender] {
    let (fcm, apns) = state.withLock { state in
      // Whatever failed before may be put right now.
      state.fcm?.sender.startAnew()
      if state.fcm?.settings != notices.fcm {
        state.fcm = notices.fcm.map { ($0, FCMSender($0, transport: transport, time: clock)) }
      }
      if state.apns?.settings != notices.apns {
        state.apns = notices.apns.map { settings in
          // Without a transport of its own it fails over the other until it has one: it asks again after each failure.
          (
            settings,
            APNsSender(settings, transport: connect() ?? transport, connect: connect, time: clock)
          )
        }
      }
      return (state.fcm?.sender, state.apns?.sender)
    }
    var senders: [PushPlatform: any NoticeSender] = [:]
    for platform in PushPlatform.allCases {
      senders[platform] =
        switch platform {
        case .fcm: fcm
        case .apns: apns
        // It has neither a connection nor a token of its own.
        case .http:
          notices.http.map { HookSender(url: $0.url, secrets: $0.secrets, transport: transport, time: clock) }
        }
    }
    return senders
  }
}
