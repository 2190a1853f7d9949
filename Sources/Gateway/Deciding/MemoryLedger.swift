// Allowances counted in this process: gone with it, and its own alone.

internal import Gate
internal import Synchronization

/// A ledger in memory, bounded: allowances that say no more than none are forgotten, and beyond `capacity` new parties
/// cannot be counted, which the rules answer like a store that fails.
final class MemoryLedger: AllowanceLedger {
  private struct Entry {
    var state: AllowanceState
    /// From when on it may be forgotten, in seconds since the epoch.
    var expiry: Int64
  }

  private struct State {
    var entries: [AllowanceKey: Entry] = [:]
    /// At how many entries the expired ones are looked for: doubling makes the search cheap for each entry.
    var sweepAt = 1024
  }

  private let state = Mutex(State())
  private let capacity: Int

  /// Makes an empty ledger.
  /// - Parameter capacity: how many allowances are kept at most.
  init(capacity: Int = 500_000) { self.capacity = capacity }

  /// How many allowances are kept.
  var count: Int { state.withLock { $0.entries.count } }

  func lookup(_ key: AllowanceKey) -> AllowanceLookup {
    state.withLock { state in
      state.entries[key].map { .state($0.state) } ?? .unused
    }
  }

  func take(_ charges: [AllowanceCharge], at now: Instant) -> ChargeOutcome {
    state.withLock { state in
      let outcome = charges.take(from: charges.map { state.entries[$0.key]?.state }, at: now)
      guard case .taken(let receipts) = outcome else { return outcome }
      guard makeRoom(for: receipts.count, &state, at: now) else { return .unavailable }
      for receipt in receipts { keep(receipt.taken, receipt.plan, receipt.key, &state) }
      return outcome
    }
  }

  func giveBack(_ receipts: [AllowanceReceipt], at now: Instant) {
    state.withLock { state in
      for receipt in receipts {
        if let rest = receipt.givenBack(to: state.entries[receipt.key]?.state, at: now) {
          keep(rest, receipt.plan, receipt.key, &state)
        } else {
          state.entries[receipt.key] = nil
        }
      }
    }
  }

  private func keep(_ kept: AllowanceState, _ plan: AllowancePlan, _ key: AllowanceKey, _ state: inout State)
  {
    // A quota's end follows from where its window begins: it is worked out once for each window.
    let expiry: Int64 =
      if let entry = state.entries[key], entry.state.mark == kept.mark {
        entry.expiry
      } else {
        plan.expiry(of: kept)
      }
    state.entries[key] = Entry(state: kept, expiry: expiry)
  }

  /// Forgets what has expired where there are many; false where there is no room even so.
  private func makeRoom(for more: Int, _ state: inout State, at now: Instant) -> Bool {
    guard state.entries.count + more > min(state.sweepAt, capacity) else { return true }
    state.entries = state.entries.filter { $0.value.expiry > now.seconds }
    state.sweepAt = max(1024, state.entries.count * 2)
    return state.entries.count + more <= capacity
  }
}
