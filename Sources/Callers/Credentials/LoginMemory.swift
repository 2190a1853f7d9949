// Remembers from which addresses callers have logged in with the right password, across restarts and
// instances.

import Gate
package import JOSE
package import Platform
package import Store
import Synchronization

/// The successful logins that the store has, read every two seconds, and those of this instance.
///
/// Requests read memory only and never wait for the store. While the store cannot be read, an instance uses
/// the logins that it has.
///
/// The store gets only 16 bits of a keyed digest of a password. So at an address where a caller has logged
/// in, `LoginThrottle` does not refuse one wrong password in 65,536. The server then compares it as any other
/// password. After a change of the store key, the old rows match nothing.
package final class LoginMemory: Sendable {
  /// A login with a user name and a password.
  package struct Login {
    /// The caller of that user name; empty for an unknown one.
    let callerID: String
    let name: [UInt8]
    /// SHA-256 of the password.
    let password: SHA256Digest
    let address: IPAddress
    let time: Instant
  }

  private struct State {
    /// The key of the digests; nil until the store returns it.
    var key: Secret?
    var logins: [StoreID: StoredLogin] = [:]
    /// The ids of logins that the store does not have yet.
    var unsaved: Set<StoreID> = []
    /// The time at which the last successful read of the store began; nil before it.
    var read: Instant?
  }

  private let store: any Store
  private let clock: any TimeSource
  private let state: Mutex<State>

  /// The pause between two refreshes.
  private static let interval = Duration.seconds(2)
  /// The maximum number of logins that one transaction saves.
  private static let portion = 250

  /// - Parameter key: The key of the digests. Without one, the first instance makes a random key and saves it
  ///   in the store.
  package init(store: any Store, key: Secret?, clock: any TimeSource) {
    self.store = store
    self.clock = clock
    state = Mutex(State(key: key))
  }

  /// Whether this password was right for this caller at this address in the last 30 days. If another password
  /// was, also true for one in 65,536 wrong passwords.
  func knows(_ login: Login) -> Bool {
    guard let key = state.withLock({ $0.key }) else { return false }
    let row = login.row(key)
    return state.withLock { state in
      guard let known = state.logins[row.id] else { return false }
      return known.credential == row.credential && known.last > StoredLogin.horizon(login.time)
    }
  }

  /// Remembers that a password was right, unless the same login is remembered from the last day. Does nothing
  /// before the key is known, and while the clock is wrong, so that no row gets a wrong time.
  func note(_ login: Login) {
    guard store.health.isClockRight, let key = state.withLock({ $0.key }) else { return }
    let row = login.row(key)
    state.withLock { state in
      let known = state.logins[row.id]
      if let known, known.credential == row.credential, known.covers(row.last) { return }
      // Beyond this limit, no login is added until the next refresh forgets the oldest.
      guard known != nil || state.logins.count < 2 * StoredLogin.most else { return }
      state.logins[row.id] = row
      state.unsaved.insert(row.id)
    }
  }

  // MARK: The store

  /// Runs `refresh` every two seconds until the task is canceled.
  package func run() async {
    while await clock.hasSlept(until: clock.now + Self.interval) { await refresh() }
  }

  /// Reads the logins of other instances and saves new ones. After a failure, which the store's health shows,
  /// the next refresh tries again.
  package func refresh() async {
    let now = Instant(clock.unixTime)
    do throws(StoreError) {
      try await agreeOnKey()
      // The read overlaps the last one by ten minutes: clocks differ, and an instance that could not reach
      // the store saves its logins later.
      let since = state.withLock { $0.read?.advanced(by: .seconds(-600)) }
      let found = try await store.logins(since: since ?? StoredLogin.horizon(now))
      state.withLock { state in
        for login in found where (state.logins[login.id]?.last ?? login.last) <= login.last {
          state.logins[login.id] = login
        }
        state.read = now
      }
      try await save()
    } catch {}
    forgetOldest()
  }

  private func agreeOnKey() async throws(StoreError) {
    guard state.withLock({ $0.key == nil }) else { return }
    var bytes: [UInt8]
    do throws(OpenSSLError) { bytes = try RandomBytes.make(32) } catch {
      preconditionFailure("OpenSSL has no randomness: \(error)")
    }
    bytes = try await store.sharedSecret("logins", or: bytes)
    let key = Secret(wiping: &bytes)
    state.withLock { $0.key = key }
  }

  private func save() async throws(StoreError) {
    while true {
      let batch = state.withLock { state in
        state.unsaved.prefix(Self.portion).compactMap { state.logins[$0] }
      }
      guard !batch.isEmpty else { return }
      try await store.save(batch)
      state.withLock { state in
        for saved in batch where state.logins[saved.id] == saved { state.unsaved.remove(saved.id) }
      }
    }
  }

  /// Forgets the oldest logins beyond the limit. Sorts them outside the lock, because requests need the lock.
  private func forgetOldest() {
    let logins = state.withLock { $0.logins }
    guard logins.count > StoredLogin.most else { return }
    let oldest = logins.values.sorted { $0.last < $1.last }.prefix(logins.count - StoredLogin.most)
    state.withLock { state in
      for old in oldest where state.logins[old.id] == old {
        state.logins[old.id] = nil
        state.unsaved.remove(old.id)
      }
    }
  }
}

extension LoginMemory.Login {
  /// The row that the store gets, without the address and the password. Labels and ids of callers have no
  /// NUL, and the last parts have fixed lengths, so no two logins have the same bytes.
  fileprivate func row(_ key: Secret) -> StoredLogin {
    let client = address.client
    var place = Array("address".utf8) + [0] + Array(callerID.utf8) + [0, address.isV4 ? 4 : 6]
    for shift in stride(from: 56, through: 0, by: -8) {
      place.append(UInt8(truncatingIfNeeded: (client.isV4 ? client.low : client.high) >> UInt64(shift)))
    }
    let credential = HMAC.code(
      Array("credential".utf8) + [0] + name + password.bytes, key: key, .sha256)
    return StoredLogin(
      id: StoreID(digest: HMAC.code(place, key: key, .sha256)), caller: callerID,
      credential: UInt16(credential[0]) << 8 | UInt16(credential[1]), last: time)
  }
}
