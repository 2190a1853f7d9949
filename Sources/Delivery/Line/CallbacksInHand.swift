// Tracks the callbacks that this process is working on, so that shutdown can wait for them.

package import Platform
package import Store
import Synchronization

/// Counts what is under way, so that an ending server can wait for it, and knows the `Idempotency-Key`s of what has no
/// record yet: a second request with such a key is told so at once, and not when its turn comes.
///
/// The store's word is the one that counts, for all instances; this only speaks earlier.
package final class CallbacksInHand: Sendable {
  /// A key with whose it is.
  package struct Name: Hashable, Sendable {
    let callerID: String
    let key: String

    init(callerID: String, key: String) {
      self.callerID = callerID
      self.key = key
    }

    /// The name of an intent's key, if it has one.
    package init?(_ intent: CallbackIntent) {
      guard let key = intent.key else { return nil }
      self.init(callerID: intent.callerID, key: key.text)
    }
  }

  /// What a key is to a request.
  package enum Claim: Hashable, Sendable { case free, inProgress, mismatch }

  private struct State {
    var count = 0
    var heldBytes = 0
    var fingerprints: [Name: String] = [:]
  }

  private let state = Mutex(State())
  /// The numbers that are about to be asked for.
  package let numbers: NumbersInHand

  package init(time: any TimeSource) { numbers = NumbersInHand(time: time) }

  /// How many are under way.
  var count: Int { state.withLock { $0.count } }

  /// One more.
  package func enter() { state.withLock { $0.count += 1 } }

  /// One less.
  package func leave() { state.withLock { $0.count -= 1 } }

  /// How much content may wait for an issuer's keys: its callers are not known yet, so anybody may have sent it.
  static let mostHeldBytes = 16 * 1024 * 1024

  /// Counts the memory of a request body that waits for an issuer's keys, until `release(bytes:)`.
  /// - Returns: false where it would be too much, and then it is not counted.
  package func hold(_ bytes: Int) -> Bool {
    state.withLock { state in
      guard state.heldBytes + bytes <= Self.mostHeldBytes else { return false }
      state.heldBytes += bytes
      return true
    }
  }

  /// Releases the memory of a request body that no longer waits.
  package func release(bytes: Int) { state.withLock { $0.heldBytes -= bytes } }

  /// Claims a key until `release`, unless another request has it.
  package func claim(_ name: Name, fingerprint: String) -> Claim {
    state.withLock { state in
      switch state.fingerprints[name] {
      case nil:
        state.fingerprints[name] = fingerprint
        return .free
      case fingerprint: return .inProgress
      default: return .mismatch
      }
    }
  }

  /// What a key is to a request that only wants to know.
  package func look(_ name: Name, fingerprint: String) -> Claim {
    state.withLock { state in
      state.fingerprints[name].map { $0 == fingerprint ? .inProgress : .mismatch } ?? .free
    }
  }

  /// Gives a claimed key back.
  package func release(_ name: Name) { state.withLock { $0.fingerprints[name] = nil } }

  /// Waits until nothing is under way, but not for longer than a time.
  package func finished(within span: Duration, _ time: any TimeSource) async {
    let end = time.now + span
    // Cancellation would only mean that ending goes faster.
    while count > 0, time.now < end, await time.hasSlept(until: time.now + .milliseconds(5)) {}
  }
}
