// The parts of the callback code that survive a reload, and how a configuration uses them.

import Metrics
package import Platform
package import Records
import Store

/// The callbacks' part of what outlives a configuration.
package struct CallbackParts: Sendable {
  /// Where they are kept.
  package let store: RetryingStore
  /// Which of them may ask Talkdesk now.
  package let queue: CallbackQueue
  /// What this process is busy with.
  package let inHand: CallbacksInHand
  package let clock: any TimeSource
  package let log: CallbackLog
  let metrics: ServiceMetrics
  /// What callbacks use of the brakes.
  package let brakes: BrakeWatch

  package init(
    store: RetryingStore, queue: CallbackQueue, inHand: CallbacksInHand, clock: any TimeSource,
    log: CallbackLog, metrics: ServiceMetrics, brakes: BrakeWatch
  ) {
    self.store = store
    self.queue = queue
    self.inHand = inHand
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
