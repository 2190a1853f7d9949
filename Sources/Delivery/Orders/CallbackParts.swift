// The parts of the callback code that survive a reload, and how a configuration uses them.

package import HTTP
import Metrics
package import Platform
package import Records
import Store
import Synchronization
import Tokens

/// The callbacks' part of what outlives a configuration.
package struct CallbackParts: Sendable {
  /// Where they are kept.
  package let store: RetryingStore
  /// Who may ask Talkdesk now.
  package let originator: Originator
  /// What this process is busy with.
  package let inHand: CallbacksInHand
  /// The way to the Callback API: its own, so that a crowd of callbacks takes nothing from exchanges.
  package let transport: any HTTPTransport
  package let clock: any TimeSource
  package let log: CallbackLog
  let metrics: ServiceMetrics
  /// What callbacks use of the brakes.
  package let brakes: BrakeWatch

  package init(
    store: RetryingStore, originator: Originator, inHand: CallbacksInHand, transport: any HTTPTransport,
    clock: any TimeSource, log: CallbackLog, metrics: ServiceMetrics, brakes: BrakeWatch
  ) {
    self.store = store
    self.originator = originator
    self.inHand = inHand
    self.transport = transport
    self.clock = clock
    self.log = log
    self.metrics = metrics
    self.brakes = brakes
  }

  /// Callbacks became `unknown` because nobody will settle them: their process has ended, or could not write.
  package func recovered(_ count: Int) {
    log.recovered(count)
    metrics.callbacks.count(StoredCallback.Status.unknown.rawValue, by: count)
  }
}
