// Tracks the keys and numbers of this process's requests for callbacks and tickets that have no record yet,
// and counts the work that the process finishes before it exits.

import Gate
package import Platform
package import Store
import Synchronization
import Texts

/// Counts the running work of this process, so that the process can wait for it before it exits: callbacks,
/// tickets, due appointments and repeated writes. Also knows the keys and numbers of requests without a
/// record.
///
/// The store decides for all instances. This class decides earlier:
/// 1. A second request with the same key gets `in_progress` at once, or `idempotency_mismatch` if its content
///    differs. An AI agent's second request waits for the first one instead.
/// 2. A second request for the same number waits until the first request has a record, and then is its
///    duplicate. If the first request fails, the second continues as if it were the only one. Without the
///    wait, a quota of one would refuse the second request with 429.
package final class CallbacksInHand: Sendable {
  /// An `Idempotency-Key` and the caller that sent it.
  package struct Key: Hashable, Sendable {
    @Exact private(set) var callerID: String
    @Exact private(set) var text: String

    init(callerID: String, text: String) {
      self.callerID = callerID
      self.text = text
    }

    /// An intent's key, if it has one.
    package init?(_ intent: CallbackIntent) {
      guard let key = intent.key else { return nil }
      self.init(callerID: intent.callerID, text: key.text)
    }
  }

  /// A number, or a ticket's content, and the owner of the request.
  package struct Number: Hashable, Sendable {
    @Exact private(set) var owner: String
    let matter: CallbackIntent.Matter

    init(owner: String, number: E164) {
      self.owner = owner
      matter = .call(number)
    }

    init(_ intent: CallbackIntent) {
      owner = intent.owner
      matter = intent.matter
    }
  }

  /// The result of claiming a key.
  package enum Claim: Hashable, Sendable { case free, inProgress, mismatch }

  /// The result of waiting for a number.
  package enum NumberTurn: Hashable, Sendable {
    /// The request has reserved the number, until `release`.
    case free
    /// Another callback to the number, or another ticket with the content, now has a record.
    case taken(CallbackID)
    /// The deadline passed first.
    case late
    /// Too many requests wait for numbers.
    case full
  }

  fileprivate struct Waiter {
    let id: UInt64
    let timer: Task<Void, Never>
    let continuation: CheckedContinuation<NumberTurn, Never>

    func answer(_ turn: NumberTurn) {
      timer.cancel()
      continuation.resume(returning: turn)
    }
  }

  fileprivate struct State {
    var count = 0
    var heldBytes = 0
    var fingerprints: [Key: String] = [:]
    /// Reserved numbers, each with the requests that wait for it.
    var numbers: [Number: [Waiter]] = [:]
    var waiting = 0
    var lastID: UInt64 = 0
  }

  /// The maximum size, in bytes, of all content that waits for an issuer's keys. The caller is not
  /// authenticated yet, so anyone may have sent the content.
  static let mostHeldBytes = 16 * 1024 * 1024
  /// The maximum number of requests that wait for numbers. Taps on a button come in twos and threes; more
  /// come from a client in a loop.
  static let mostWaiting = 1024

  private let state = Mutex(State())
  private let time: any TimeSource

  package init(time: any TimeSource) { self.time = time }

  // MARK: Counting

  /// The number of callbacks, tickets, due appointments and repeated writes that are running.
  var count: Int { state.withLock { $0.count } }

  /// Counts one more piece of running work.
  package func enter() { state.withLock { $0.count += 1 } }

  /// Counts one piece of running work fewer.
  package func leave() { state.withLock { $0.count -= 1 } }

  /// Counts the memory of a request body that waits for an issuer's keys, until `release(bytes:)`.
  /// - Returns: False if the limit would be exceeded. Then the memory is not counted.
  package func hold(_ bytes: Int) -> Bool {
    state.withLock { state in
      guard state.heldBytes + bytes <= Self.mostHeldBytes else { return false }
      state.heldBytes += bytes
      return true
    }
  }

  /// Releases the memory of a request body that no longer waits.
  package func release(bytes: Int) { state.withLock { $0.heldBytes -= bytes } }

  /// Waits until no counted work is running, at most for `span`.
  package func finished(within span: Duration, _ time: any TimeSource) async {
    let end = time.now + span
    // If the task is canceled, the wait only ends earlier.
    while count > 0, time.now < end, await time.hasSlept(until: time.now + .milliseconds(5)) {}
  }

  // MARK: Keys

  /// Claims a key until `release`, unless another request has claimed it.
  func claim(_ key: Key, fingerprint: String) -> Claim {
    state.withLock { state in
      let claim = state.claim(on: key, fingerprint)
      if claim == .free { state.fingerprints[key] = fingerprint }
      return claim
    }
  }

  /// The state of a key, without claiming it.
  package func look(_ key: Key, fingerprint: String) -> Claim {
    state.withLock { $0.claim(on: key, fingerprint) }
  }

  /// The fingerprint of the first request with an intent's key; nil if none is running, or if the intent has
  /// no key.
  package func first(of intent: CallbackIntent) -> String? {
    Key(intent).flatMap { key in state.withLock { $0.fingerprints[key] } }
  }

  /// Replaces the fingerprint of a claimed key's first request, because another request continues in its
  /// place.
  package func rename(firstOf intent: CallbackIntent, to fingerprint: String) {
    guard let key = Key(intent) else { return }
    state.withLock { state in
      if state.fingerprints[key] != nil { state.fingerprints[key] = fingerprint }
    }
  }

  /// Releases a claimed key.
  func release(_ key: Key) { state.withLock { $0.fingerprints[key] = nil } }

  // MARK: Numbers

  /// The number of requests that have reserved a number or wait for it.
  func count(at number: Number) -> Int { state.withLock { $0.numbers[number].map { 1 + $0.count } ?? 0 } }

  /// Reserves a number until `release`, after the requests that reserved it or waited for it earlier.
  func take(_ number: Number, deadline: MonotonicTime) async -> NumberTurn {
    await withCheckedContinuation { continuation in
      let atOnce: NumberTurn? = state.withLock { state in
        guard state.numbers[number] != nil else {
          state.numbers[number] = []
          return .free
        }
        guard state.waiting < Self.mostWaiting else { return .full }
        state.waiting += 1
        state.lastID += 1
        let timer = expiry(of: state.lastID, at: number, deadline)
        state.numbers[number]?.append(Waiter(id: state.lastID, timer: timer, continuation: continuation))
        return nil
      }
      if let atOnce { continuation.resume(returning: atOnce) }
    }
  }

  /// Releases a number.
  /// - Parameter standing: The callback that now has a record; all waiting requests get it as `taken`. Nil if
  ///   there is none; then the next request gets the number.
  func release(_ number: Number, standing: CallbackID?) {
    let waiters = state.withLock { state in
      guard var waiters = state.numbers.removeValue(forKey: number), !waiters.isEmpty else {
        return [Waiter]()
      }
      guard standing == nil else {
        state.waiting -= waiters.count
        return waiters
      }
      let next = waiters.removeFirst()
      state.numbers[number] = waiters
      state.waiting -= 1
      return [next]
    }
    for waiter in waiters { waiter.answer(standing.map { .taken($0) } ?? .free) }
  }

  private func expiry(of id: UInt64, at number: Number, _ deadline: MonotonicTime) -> Task<Void, Never> {
    Task.detached { [weak self, time] in
      // A canceled timer does nothing: its request already has a result.
      guard await time.hasSlept(until: deadline) else { return }
      self?.expire(id, at: number)
    }
  }

  private func expire(_ id: UInt64, at number: Number) {
    let late: Waiter? = state.withLock { state in
      guard let index = state.numbers[number]?.firstIndex(where: { $0.id == id }) else { return nil }
      state.waiting -= 1
      return state.numbers[number]?.remove(at: index)
    }
    late?.continuation.resume(returning: .late)
  }
}

extension CallbacksInHand.State {
  fileprivate func claim(on key: CallbacksInHand.Key, _ fingerprint: String) -> CallbacksInHand.Claim {
    fingerprints[key].map { $0 == fingerprint ? .inProgress : .mismatch } ?? .free
  }
}
