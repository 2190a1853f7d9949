// The parts of the callback code that survive a reload: store, queue, clocks, log, metrics and brakes.

package import Gate
package import Metrics
package import Platform
package import Records
package import Store

/// The parts of the callback code that outlive a configuration.
package struct CallbackParts: Sendable {
  /// The store of the records of callbacks and tickets.
  package let store: RetryingStore
  /// The queue for Talkdesk.
  package let queue: CallbackQueue
  /// The running work of this process.
  package let inHand: CallbacksInHand
  package let clock: any TimeSource
  /// The clock whose wall time decides when appointments are due. Differs from `clock` only in the sandbox.
  package let scheduler: any TimeSource
  package let log: CallbackLog
  let metrics: ServiceMetrics
  /// Tracks the use of the brakes.
  package let brakes: BrakeWatch
  /// The audit trail, where intents are written first in strict mode; nil without an audit file or chain.
  package let audit: AuditTrail?

  package init(
    store: RetryingStore, queue: CallbackQueue, inHand: CallbacksInHand, clock: any TimeSource,
    log: CallbackLog, metrics: ServiceMetrics, brakes: BrakeWatch, scheduler: (any TimeSource)? = nil,
    audit: AuditTrail? = nil
  ) {
    self.store = store
    self.queue = queue
    self.inHand = inHand
    self.clock = clock
    self.scheduler = scheduler ?? clock
    self.log = log
    self.metrics = metrics
    self.brakes = brakes
    self.audit = audit
  }

  /// Updates brakes and metrics after an appointment ended without a call and gave its allowances back.
  package func ended(_ status: StoredCallback.Status, returning receipts: [AllowanceReceipt]) {
    brakes.gaveBack(receipts)
    metrics.callbacks.count(status.rawValue)
  }

  /// Saves an outcome, at once or in the background.
  /// - Parameter counter: Counts the outcome; nil for the counter of callbacks.
  package func settle(
    _ intent: CallbackIntent, _ settlement: CallbackSettlement, counter: EventCounter? = nil
  ) async {
    let (id, state) = (intent.id.description, settlement.outcome.rawValue)
    await store.settle(intent, settlement) { [metrics, log] wasRecovered in
      // Another instance already counted a recovered record as unknown.
      guard wasRecovered else { return (counter ?? metrics.callbacks).count(state) }
      log.corrected(id: id, state: state)
    }
  }

  /// Counts a request that named a device which gets no push notifications.
  package func ignoredDevice() { metrics.ignoredDevices.count() }

  /// Logs and counts callbacks that became `unknown`, because their process ended or could not write.
  package func recovered(_ count: Int) {
    guard count > 0 else { return }
    log.recovered(count)
    metrics.callbacks.count(StoredCallback.Status.unknown.rawValue, by: count)
  }
}
