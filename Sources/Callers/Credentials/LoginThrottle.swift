// Slows down clients that guess credentials, without locking out the real users.

package import JOSE
package import Platform
import Synchronization

/// Counts failed logins per address, and per address and identity, and refuses logins after too many. Also
/// limits how many signatures of unknown clients the server verifies for an address.
///
/// A credential that was right at an address in the last 30 days is always checked there. So phones behind
/// one carrier's address, or behind an undeclared proxy, do not lock each other out. The check itself is the
/// same as for any login. This object forgets such credentials when the process ends; `memory` remembers
/// callers' passwords across restarts.
///
/// Failures are not counted per identity alone: an attacker who knows a user name could then lock its owner
/// out from elsewhere. Failures at one address do not affect logins from another. One address may fail more
/// often than one user name at it, because many users may share it (a carrier's, an office's).
package final class LoginThrottle: Sendable {
  /// A credential, as hashes.
  package struct Credential: Hashable, Sendable {
    /// SHA-256 of the secret.
    let digest: SHA256Digest
    /// A hash of the user name; 0 without one.
    var name = 0

    package init(digest: SHA256Digest, name: Int = 0) {
      self.digest = digest
      self.name = name
    }
  }

  /// A rate limit: how many failures or signatures are allowed at once, and how fast more are allowed.
  private struct Patience {
    let burst: Int64
    /// The time after which one more is allowed, in nanoseconds.
    let interval: Int64
  }

  /// 10 at once, 10 a minute.
  private static let perIdentity = Patience(burst: 10, interval: 6_000_000_000)
  /// 100 at once, 100 a minute.
  private static let perAddress = Patience(burst: 100, interval: 600_000_000)
  /// 1,000 at once, 500 a second. Verifying a P-256 signature takes 50 to 100 µs, so each address can use up
  /// to 5% of a core.
  private static let perVerification = Patience(burst: 1_000, interval: 2_000_000)
  /// The maximum number of entries in `table`, and of credentials in `proven`. Beyond it, about half of them
  /// are forgotten: those with the fewest failures, or those noted longest ago.
  static let capacity = 65_536

  /// For each key the theoretical arrival time of the generic cell rate algorithm, in nanoseconds.
  private let table = Mutex<[UInt64: Int64]>([:])

  /// Counts bad JWTs, which are not guesses at a login.
  let tokens = TokenThrottle()
  /// The addresses from which callers have logged in, across restarts and instances; nil without such a
  /// memory.
  package let memory: LoginMemory?

  package init(memory: LoginMemory? = nil) { self.memory = memory }

  /// Credentials that were right, each with its address.
  private struct Proven {
    /// The time at which each credential was last noted at an address, by a hash of both.
    var times: [UInt64: Int64] = [:]
    /// Recent notes, so that a login that succeeds again and again is not hashed each time.
    var recent = [Note?](repeating: nil, count: 64)

    struct Note {
      let address: IPAddress
      let credential: Credential
      let time: Int64
    }

    /// The index of a login's note in `recent`.
    func index(_ address: IPAddress, _ credential: Credential) -> Int {
      Int(truncatingIfNeeded: (credential.digest.firstWord ^ address.low) % UInt64(recent.count))
    }
  }
  private let proven = Mutex(Proven())
  /// The age at which a note is renewed, in nanoseconds. The oldest notes are forgotten first.
  private static let noteAge: Int64 = 60_000_000_000
  /// How long a credential counts as right at an address.
  private static let lifetime = Duration.seconds(30 * 86_400)
  private let count = Atomic<Int>(0)
  private let refused = Atomic<Int>(0)
  private let seed = UInt64.random(in: .min ... .max)

  /// The time until a login is checked again; nil if it is checked now.
  ///
  /// - Parameters:
  ///   - identity: The name of the login: a user name, an installation's id, or `operator`. Nil for API keys
  ///     and proofs.
  ///   - login: The same login for `memory`; nil for credentials that `memory` does not store.
  package func wait(
    address: IPAddress, identity: @autoclosure () -> [UInt8]?, credential: Credential, now: MonotonicTime,
    login: @autoclosure () -> LoginMemory.Login? = nil
  ) -> Duration? {
    // Nothing has been counted since the start. This usual case costs one load.
    guard count.load(ordering: .relaxed) > 0 else { return nil }
    let (addressKey, identityKey) = keys(address, identity())
    let wait = table.withLock { table in
      let waits = [
        Self.wait(table[addressKey], Self.perAddress, now),
        identityKey.flatMap { Self.wait(table[$0], Self.perIdentity, now) },
      ]
      return waits.compactMap { $0 }.max()
    }
    guard let wait, !isProven(credential, address, since: now - Self.lifetime) else { return nil }
    if let memory, let login = login(), memory.knows(login) { return nil }
    refused.add(1, ordering: .relaxed)
    return wait
  }

  /// The number of entries in the table.
  var remembered: Int { count.load(ordering: .relaxed) }

  /// The number of logins, JWTs and proofs that were refused because there were too many from an address.
  package var refusals: Int { refused.load(ordering: .relaxed) + tokens.refusals }

  /// Notes that a credential was right at an address.
  ///
  /// - Returns: True if this is a new note; false if the last one is less than a minute old.
  @discardableResult
  package func succeeded(address: IPAddress, credential: Credential, now: MonotonicTime) -> Bool {
    proven.withLock { proven in
      let index = proven.index(address, credential)
      if let note = proven.recent[index], now.nanoseconds.subtractingClamped(note.time) < Self.noteAge,
        note.address == address, note.credential == credential
      {
        return false
      }
      let key = key(credential, address)
      if let noted = proven.times[key], now.nanoseconds.subtractingClamped(noted) < Self.noteAge {
        proven.recent[index] = Proven.Note(address: address, credential: credential, time: noted)
        return false
      }
      if proven.times.count >= Self.capacity {
        let middle = proven.times.values.sorted()[proven.times.count / 2]
        proven.times = proven.times.filter { $0.value > middle }
        proven.recent = [Proven.Note?](repeating: nil, count: proven.recent.count)
      }
      proven.times[key] = now.nanoseconds
      proven.recent[index] = Proven.Note(address: address, credential: credential, time: now.nanoseconds)
      return true
    }
  }

  private func isProven(
    _ credential: Credential, _ address: IPAddress, since: MonotonicTime = MonotonicTime(nanoseconds: .min)
  ) -> Bool {
    let key = key(credential, address)
    return proven.withLock { $0.times[key].map { $0 >= since.nanoseconds } ?? false }
  }

  /// Counts a failed login.
  package func failed(address: IPAddress, identity: [UInt8]?, now: MonotonicTime) {
    let (addressKey, identityKey) = keys(address, identity)
    table.withLock { table in
      if table.count >= Self.capacity { Self.forget(&table, now: now) }
      Self.weigh(&table[addressKey], Self.perAddress, now)
      if let identityKey { Self.weigh(&table[identityKey], Self.perIdentity, now) }
      count.store(table.count, ordering: .relaxed)
    }
  }

  /// Counts a signature that an unknown client asks the server to verify, right or wrong.
  ///
  /// - Returns: The time until another signature from this address is verified, if there were too many. This
  ///   one is then not counted. Nil if this signature may be verified. A credential that was right at this
  ///   address before may always be verified, and is not counted.
  func takeVerification(address: IPAddress, credential: Credential, now: MonotonicTime) -> Duration? {
    guard !isProven(credential, address) else { return nil }
    let key = verificationKey(address)
    let wait = table.withLock { table -> Duration? in
      if let wait = Self.wait(table[key], Self.perVerification, now) { return wait }
      if table.count >= Self.capacity { Self.forget(&table, now: now) }
      Self.weigh(&table[key], Self.perVerification, now)
      count.store(table.count, ordering: .relaxed)
      return nil
    }
    if wait != nil { refused.add(1, ordering: .relaxed) }
    return wait
  }

  private func verificationKey(_ address: IPAddress) -> UInt64 {
    var hasher = hasher(address)
    hasher.combine("verification")
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  private static func weigh(_ arrival: inout Int64?, _ patience: Patience, _ now: MonotonicTime) {
    arrival = max(arrival ?? 0, now.nanoseconds).addingClamped(patience.interval)
  }

  private static func wait(_ arrival: Int64?, _ patience: Patience, _ now: MonotonicTime) -> Duration? {
    guard let arrival else { return nil }
    let early = arrival.subtractingClamped(now.nanoseconds)
      .subtractingClamped((patience.burst - 1) * patience.interval)
    return early > 0 ? .nanoseconds(early) : nil
  }

  /// Drops entries whose failures no longer count, and then the half with the fewest failures. A flood from
  /// many addresses must not free the address with the most failures.
  private static func forget(_ table: inout [UInt64: Int64], now: MonotonicTime) {
    table = table.filter { $0.value > now.nanoseconds }
    guard table.count >= capacity else { return }
    let middle = table.values.sorted()[table.count / 2]
    table = table.filter { $0.value > middle }
  }

  private func keys(_ address: IPAddress, _ identity: [UInt8]?) -> (address: UInt64, identity: UInt64?) {
    let ofAddress = hasher(address)
    var ofIdentity = ofAddress
    ofIdentity.combine(identity)
    return (
      UInt64(bitPattern: Int64(ofAddress.finalize())),
      identity.map { _ in UInt64(bitPattern: Int64(ofIdentity.finalize())) }
    )
  }

  private func key(_ credential: Credential, _ address: IPAddress) -> UInt64 {
    var hasher = hasher(address)
    hasher.combine(credential)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  /// A hasher that starts with the address. Only the /64 of an IPv6 address counts, because one customer has
  /// all of it.
  private func hasher(_ address: IPAddress) -> Hasher {
    var hasher = Hasher()
    hasher.combine(seed)
    hasher.combine(address.isV4)
    hasher.combine(address.high)
    if address.isV4 { hasher.combine(address.low) }
    return hasher
  }
}
