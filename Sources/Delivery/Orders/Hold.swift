// The resources of a callback on its way in this process, until it is settled or withdrawn.

package import Gate
package import Platform
package import Store

/// The resources of a callback on its way: its key, its number and its turn in the queue. Its record has its allowances; the hold tells
/// the watch over the brakes of them.
///
/// A hold cannot be copied, and ends in `settle` or `withdraw`. To drop one is a bug and traps: the key would stay in progress.
package struct Hold: ~Copyable, Sendable {
  package let intent: CallbackIntent
  private let parts: CallbackParts
  private var key: CallbacksInHand.Key?
  private var number: CallbacksInHand.Number?
  private var turn: CallbackQueue.Turn?
  private var receipts: [AllowanceReceipt] = []
  private var isOver = false

  /// An empty hold.
  package init(_ intent: CallbackIntent, _ parts: CallbackParts) {
    self.intent = intent
    self.parts = parts
  }

  deinit { precondition(isOver, "a callback was neither settled nor withdrawn") }

  // MARK: Taking

  /// Claims the intent's key, if it has one, unless another request has it.
  package mutating func claimKey(fingerprint: String) -> CallbacksInHand.Claim {
    guard let key = CallbacksInHand.Key(intent) else { return .free }
    let claim = parts.inHand.claim(key, fingerprint: fingerprint)
    if claim == .free { self.key = key }
    return claim
  }

  /// Waits until no other callback of the caller to the number is about to begin.
  package mutating func takeNumber(deadline: MonotonicTime) async -> CallbacksInHand.NumberTurn {
    if number != nil { return .free }
    let number = CallbacksInHand.Number(intent)
    let turn = await parts.inHand.take(number, deadline: deadline)
    if turn == .free { self.number = number }
    return turn
  }

  /// The record was saved, and has taken allowances.
  package mutating func took(_ receipts: [AllowanceReceipt], at now: Instant) {
    self.receipts = receipts
    parts.brakes.taken(receipts, contact: intent.maskedContact, at: now)
  }

  /// Takes a turn, if there is one without waiting.
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

  /// The least time to the deadline with which the server sends a callback.
  var leastTime: Duration { turn?.leastTime ?? .zero }

  // MARK: Giving back

  /// A callback to the number has a record, this one or an earlier one. The requests that wait for the number are its duplicates.
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

  /// The callback was made, or may have been: its allowances stay used.
  package consuming func settle() { end() }

  /// The callback was certainly not made. The store gives its allowances back with its record.
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
