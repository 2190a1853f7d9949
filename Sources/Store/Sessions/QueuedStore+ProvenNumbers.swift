// The store's operations on proven phone numbers, run in database sessions.

package import Gate

extension QueuedStore {
  package func proven(_ number: ProvenNumber) async throws(StoreError) -> Instant? {
    try await rows(ProvenNumberStatements.proven, .id(number.id)).first
  }

  package func remember(_ number: ProvenNumber, at now: Instant, until end: Instant) async throws(StoreError)
  {
    let calls = [
      ChangeCall(
        ProvenNumberStatements.remember, .id(number.id), .id(number.owner), .time(now), .time(end)),
      ChangeCall(
        ProvenNumberStatements.forgetOldest, .id(number.owner), .integer(Int64(ProvenNumber.mostOfOwner - 1))),
      ChangeCall(ProvenNumberStatements.forgetBeyond, .integer(ProvenNumber.most)),
    ]
    _ = try await join { session throws(StoreError) in try session.change(calls) }
  }
}

extension QueuedStore {
  /// Saves the number of a new record as proven, if the record used a proof of it.
  func remember(_ intent: CallbackIntent, at now: Instant) async {
    guard let number = intent.ownership, let span = intent.remembersFor, intent.charges?.usesProof == true
    else { return }
    // If it fails, the subject must prove the number again. `health` shows the failure.
    do throws(StoreError) { try await remember(number, at: now, until: now.advanced(by: span)) } catch {}
  }
}
