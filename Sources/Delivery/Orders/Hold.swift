// The resources that a running callback or ticket uses in this process, until it is settled or withdrawn.

package import Gate
package import Platform
package import Store

/// The resources of a running callback: its key, its number and its turn in the queue. A running ticket has a
/// key and, in place of the number, its content. The record contains the allowances; the hold reports them to
/// `BrakeWatch`.
///
/// A hold cannot be copied, and ends in `settle` or `withdraw`. Dropping a hold is a bug and traps, because
/// its key would stay in progress.
package struct Hold: ~Copyable, Sendable {
  package let intent: CallbackIntent
  private let parts: CallbackParts
  private var key: CallbacksInHand.Key?
  private var number: CallbacksInHand.Number?
  private var turn: CallbackQueue.Turn?
  private var receipts: [AllowanceReceipt] = []
  private var isOver = false

  /// Creates a hold without resources.
  package init(_ intent: CallbackIntent, _ parts: CallbackParts) {
    self.intent = intent
    self.parts = parts
  }

  deinit { precondition(isOver, "a callback was neither settled nor withdrawn") }

  // MARK: Taking

  /// Claims the intent's key, if it has one, unless another request has claimed it.
  package mutating func claimKey(fingerprint: String) -> CallbacksInHand.Claim {
    guard let key = CallbacksInHand.Key(intent) else { return .free }
    let claim = parts.inHand.claim(key, fingerprint: fingerprint)
    if claim == .free { self.key = key }
    return claim
  }

  /// Reserves the number. If an earlier callback of the owner to it has no record yet, waits until that
  /// callback has one, which makes this one a duplicate, or fails.
  package mutating func takeNumber(deadline: MonotonicTime) async -> CallbacksInHand.NumberTurn {
    if number != nil { return .free }
    let number = CallbacksInHand.Number(intent)
    let turn = await parts.inHand.take(number, deadline: deadline)
    if turn == .free { self.number = number }
    return turn
  }

  /// Notes the allowances that the saved record used, for `BrakeWatch` and for `withdraw`.
  package mutating func took(_ receipts: [AllowanceReceipt], at now: Instant) {
    self.receipts = receipts
    parts.brakes.taken(receipts, contact: intent.maskedContact, at: now)
  }

  /// Gets a turn, if one is free.
  mutating func takeTurnAtOnce(_ order: CallbackOrder) throws(CallbackQueue.Refusal) -> Bool {
    turn = try parts.queue.turnAtOnce(
      CallbackQueue.Party(intent), deadline: order.turnDeadline(parts), bytes: order.content.count)?.get()
    return turn != nil
  }

  /// Waits for a turn.
  mutating func takeTurn(_ order: CallbackOrder) async throws(CallbackQueue.Refusal) {
    turn = try await parts.queue.turn(
      CallbackQueue.Party(intent), deadline: order.turnDeadline(parts), bytes: order.content.count)
  }

  /// The minimum time left before the deadline. With less, the server does not send the callback.
  var leastTime: Duration { turn?.leastTime ?? .zero }

  // MARK: Giving back

  /// Releases the number, because a callback to it now has a record: this one or an earlier one. Requests
  /// that wait for the number are its duplicates.
  package mutating func recorded(_ standing: CallbackID) {
    guard let number = number.take() else { return }
    parts.inHand.release(number, standing: standing)
  }

  /// Gives the turn back, so that the next callback gets it.
  /// - Parameter wasSent: Whether the request was sent. Only then does its duration count for estimates.
  mutating func endTurn(wasSent: Bool) {
    guard let turn = turn.take() else { return }
    parts.queue.end(turn, wasSent: wasSent)
  }

  /// Ends the hold of a callback that was made, or may have been. Its allowances stay used.
  package consuming func settle() { end() }

  /// Ends the hold of a callback that was certainly not made. The store gives its allowances back together
  /// with its record.
  package consuming func withdraw() {
    parts.brakes.gaveBack(receipts)
    end()
  }

  private mutating func end() {
    endTurn(wasSent: false)
    if let number { parts.inHand.release(number, standing: nil) }
    if let key { parts.inHand.release(key) }
    isOver = true
  }
}
