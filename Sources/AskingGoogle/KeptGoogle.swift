// Keeps what asks Google across reloads, with its access tokens.

package import HTTP
package import Platform
import Synchronization

/// Keeps what asks Google across reloads. A reload makes another one only where its settings have changed.
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

  /// The decoder of a configuration. Whatever failed before may be put right now.
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

  /// The same for tokens of App Check.
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
