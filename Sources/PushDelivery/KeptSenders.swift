// Reuses the senders of push notifications across reloads, with their connections and provider tokens.

import Configuration
package import HTTP
import Notices
package import Platform
import Synchronization

/// The senders of the last configuration. A reload creates a new sender for FCM or APNs only if its settings
/// changed, because APNs treats rapid opening and closing of connections as an attack.
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
  ///   - transport: Carries notifications to FCM and to webhooks.
  ///   - connect: Creates a transport only for APNs, over one HTTP/2 connection; nil if that fails.
  package init(
    transport: any HTTPTransport, connect: @escaping @Sendable () -> (any HTTPTransport)?,
    clock: any TimeSource
  ) {
    self.transport = transport
    self.connect = connect
    self.clock = clock
  }

  /// Drops the access tokens of FCM and APNs.
  package func forgetTokens() {
    let (fcm, apns) = state.withLock { ($0.fcm?.sender, $0.apns?.sender) }
    fcm?.forgetTokens()
    apns?.forgetTokens()
  }

  /// Drops recent failures of Google's token endpoint, so that the next notification through FCM contacts it
  /// again.
  package func startAnew() { state.withLock { $0.fcm?.sender }?.startAnew() }

  /// The senders of a configuration. Senders of the previous configuration that it does not need are dropped.
  func senders(_ notices: Configuration.Notices) -> [PushPlatform: any NoticeSender] {
    let (fcm, apns) = state.withLock { state in
      // The cause of an earlier failure may be fixed now.
      state.fcm?.sender.startAnew()
      if state.fcm?.settings != notices.fcm {
        state.fcm = notices.fcm.map { ($0, FCMSender($0, transport: transport, time: clock)) }
      }
      if state.apns?.settings != notices.apns {
        state.apns = notices.apns.map { settings in
          // Without its own transport, the sender fails over the shared one, and calls `connect` again after
          // each failure.
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
        // A webhook needs neither a lasting connection nor a provider token.
        case .http:
          notices.http.map { HookSender(url: $0.url, secrets: $0.secrets, transport: transport, time: clock) }
        }
    }
    return senders
  }
}
