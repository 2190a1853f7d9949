// Moves, rewrites and ends appointments. These changes are not retried after a failure.

package import Gate
package import Store

extension RetryingStore {
  package func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult {
    try checkClock()
    return try await base.move(booking, at: now)
  }

  package func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) async throws(StoreError) -> Bool
  {
    try checkClock()
    return try await base.rewrite(id, from: old, to: new)
  }

  package func end(
    _ id: CallbackID, _ ending: AppointmentEnding, returning receipts: [AllowanceReceipt], at now: Instant
  ) async throws(StoreError) -> EndResult {
    if !ending.isOwners { try checkClock() }
    return try await base.end(id, ending, returning: receipts, at: now)
  }
}

extension AppointmentEnding {
  /// The status of the appointment after this ending.
  var status: StoredCallback.Status {
    switch self {
    case .cancelled, .declined, .unanswered, .revoked: .cancelled
    case .expired: .expired
    case .failed: .failed
    }
  }
}
