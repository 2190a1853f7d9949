// The parts of the callback code that survive a reload, and how a configuration uses them.

package import Gate
import Metrics
package import Platform
package import Records
package import Store

/// The callbacks' part of what outlives a configuration.
package struct CallbackParts: Sendable {
  /// Where they are kept.
  package let store: RetryingStore
  /// Which of them may ask Talkdesk now.
  package let queue: CallbackQueue
  /// What this process is busy with.
  package let inHand: CallbacksInHand
  package let clock: any TimeSource
  /// The clock by whose wall time appointments are due. Only the sandbox has another one than `clock`.
  package let scheduler: any TimeSource
  package let log: CallbackLog
  let metrics: ServiceMetrics
  /// What callbacks use of the brakes.
  package let brakes: BrakeWatch

  package init(
    store: RetryingStore, queue: CallbackQueue, inHand: CallbacksInHand, clock: any TimeSource,
    log: CallbackLog, metrics: ServiceMetrics, brakes: BrakeWatch, scheduler: (any TimeSource)? = nil
  ) {
    self.store = store
    self.queue = queue
    self.inHand = inHand
    self.clock = clock
    self.scheduler = scheduler ?? clock
    self.log = log
    self.metrics = metrics
    self.brakes = brakes
  }

  /// Gives back what an appointment took that certainly comes to no call.
  package func giveBack(_ receipts: [AllowanceReceipt], to ledger: AllowanceLedger) async {
    guard !receipts.isEmpty else { return }
    brakes.gaveBack(receipts)
    await ledger.giveBack(receipts, at: Instant(clock.unixTime))
  }

  /// Commits an outcome: at once, or beside whatever comes next.
  package func settle(_ intent: CallbackIntent, _ settlement: CallbackSettlement) async {
    let (id, state) = (intent.id.description, settlement.outcome.rawValue)
    await store.settle(intent, settlement) { [metrics, log] wasRecovered in
      // One that another instance has counted as unknown is not counted again.
      guard wasRecovered else { return metrics.callbacks.count(state) }
      log.corrected(id: id, state: state)
    }
  }

  /// An appointment ended without a call.
  package func ended(_ status: StoredCallback.Status) { metrics.callbacks.count(status.rawValue) }

  /// Callbacks became `unknown` because nobody will settle them: their process has ended, or could not write.
  package func recovered(_ count: Int) {
    log.recovered(count)
    metrics.callbacks.count(StoredCallback.Status.unknown.rawValue, by: count)
  }
}
