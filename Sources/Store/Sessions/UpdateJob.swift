// An update that waits for its transaction.

internal import Gate
internal import Synchronization

/// One caller's update of allowances, of whatever result.
struct UpdateJob: Sendable {
  /// What is read and locked.
  let keys: [AllowanceKey]
  /// Shows the states to the caller's body and remembers its result.
  let run: @Sendable ([AllowanceState?]) -> [AllowanceWrite]
  /// Tells the caller that it is committed, or why not. Called once.
  let finish: @Sendable (StoreError?) -> Void
}

/// States of one transaction: what was read, as the jobs before changed it.
struct WorkingSet {
  /// What is read once and then changed here.
  private var states: [StoreID: AllowanceState?] = [:]
  /// What has to be written.
  private(set) var writes: [StoreID: AllowanceWrite] = [:]

  /// Whether a state has been read.
  func knows(_ id: StoreID) -> Bool { states[id] != nil }

  /// Adds a state that was read.
  mutating func add(_ id: StoreID, _ state: AllowanceState?) { states.updateValue(state, forKey: id) }

  /// Runs a job on the states of its ids, all of which have been added.
  mutating func run(_ job: UpdateJob, _ ids: [StoreID]) {
    let changes = job.run(ids.map { states[$0] ?? nil })
    for (id, change) in zip(ids, changes) {
      switch change {
      case .keep: continue
      case .put(let state, _): states.updateValue(state, forKey: id)
      case .remove: states.updateValue(nil, forKey: id)
      }
      writes[id] = change
    }
  }
}

/// Expiries are rounded up to ten minutes: an index over them then changes seldom.
func coarseExpiry(_ seconds: Int64) -> Int64 {
  let (sum, overflow) = seconds.addingReportingOverflow(599)
  return overflow ? seconds : sum / 600 * 600
}
