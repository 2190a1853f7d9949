// Begins a callback in a queue of sessions, without a store.

import Gate

@testable import Store

extension SessionQueue {
  func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning {
    try await commit { onResult in .callback(.begin(intent, at: now, onResult)) }
  }
}
