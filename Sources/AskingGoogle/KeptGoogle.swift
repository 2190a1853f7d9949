// Keeps the clients of Google's APIs, with their access tokens, across reloads.

package import HTTP
package import Platform
import Synchronization

/// The clients of Google's APIs, which survive reloads. A reload creates another client only if its settings
/// have changed.
package final class KeptGoogle: Sendable {
  private struct State {
    var decoder: PlayIntegrityDecoder?
    var consumer: AppCheckConsumer?
  }

  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let log: @Sendable (String) -> Void
  private let state = Mutex(State())

  package init(
    transport: any HTTPTransport, time: any TimeSource, log: @escaping @Sendable (String) -> Void
  ) {
    self.transport = transport
    self.time = time
    self.log = log
  }

  /// The decoder for a configuration; nil without settings. A reload may have fixed an earlier failure, so
  /// the next request goes to Google.
  package func decoder(_ settings: PlayIntegritySettings?) -> PlayIntegrityDecoder? {
    state.withLock { state in
      if let kept = state.decoder, kept.settings == settings {
        kept.service.startAnew()
        return kept
      }
      state.decoder = settings.map { PlayIntegrityDecoder($0, transport: transport, time: time, log: log) }
      return state.decoder
    }
  }

  /// The consumer of App Check tokens for a configuration; nil without settings. As with `decoder`, the next
  /// request goes to Google.
  package func consumer(_ settings: AppCheckConsumption?) -> AppCheckConsumer? {
    state.withLock { state in
      if let kept = state.consumer, kept.settings == settings {
        kept.service.startAnew()
        return kept
      }
      state.consumer = settings.map { AppCheckConsumer($0, transport: transport, time: time, log: log) }
      return state.consumer
    }
  }
}
