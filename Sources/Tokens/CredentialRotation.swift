// Remembers which of a client's credentials work, and decides in which order to try them.

package import Platform
import Synchronization

/// The states of a client's credentials, and the order of trying them.
///
/// Talkdesk ID answers 401 both for an unknown key and for a scope that is not granted. So a refused
/// credential is at fault only if another credential got a token for the same request. The refused credential
/// is then set aside for a while, so that a key that Talkdesk does not know yet does not cost each exchange a
/// second request. A credential that is set aside is tried last, not never: if the other key is retired
/// meanwhile, the next exchange still succeeds.
package final class CredentialRotation: Sendable {
  private struct Entry {
    var state = CredentialStatus.State.untried
    /// When Talkdesk ID last accepted or refused the credential.
    var seen: MonotonicTime?
    /// When the credential was last found to be at fault.
    var faulted: MonotonicTime?
    /// The number of times in a row that the credential was at fault.
    var faults = 0
    var restsUntil: Expiry?

    func isResting(_ now: MonotonicTime) -> Bool { restsUntil.map { now < $0 } ?? false }
  }

  private let entries: Mutex<[Entry]>

  package init(count: Int) { entries = Mutex(Array(repeating: Entry(), count: count)) }

  /// The credentials' indexes in the order to try them: as configured, with those set aside at the end.
  package func order(now: MonotonicTime) -> [Int] {
    entries.withLock { entries in
      let resting = entries.indices.filter { entries[$0].isResting(now) }
      return entries.indices.filter { !entries[$0].isResting(now) } + resting
    }
  }

  /// Records that Talkdesk ID accepted a credential, and which others it refused before in the same exchange.
  ///
  /// - Parameters:
  ///   - place: the index of the accepted credential.
  ///   - refused: the indexes of the refused ones.
  ///   - startedAt: when the exchange began.
  ///   - unit: a random number in 0..<1.
  /// - Returns: the indexes of the credentials whose state changed.
  package func accepted(
    _ place: Int, insteadOf refused: [Int], startedAt: MonotonicTime, now: MonotonicTime, unit: Double
  ) -> [Int] {
    entries.withLock { entries in
      var changed: [Int] = []
      if entries[place].state != .accepted { changed.append(place) }
      entries[place] = Entry(state: .accepted, seen: now)
      for other in refused {
        if entries[other].state != .refused { changed.append(other) }
        entries[other].state = .refused
        entries[other].seen = now
        // Of exchanges that ran at the same time, only the first counts.
        if let faulted = entries[other].faulted, startedAt < faulted { continue }
        entries[other].faulted = now
        entries[other].faults += 1
        entries[other].restsUntil = Expiry(now + Self.rest(after: entries[other].faults, unit: unit))
      }
      return changed
    }
  }

  /// Records that Talkdesk ID said `invalid_client` while no other credential is known to be better.
  ///
  /// - Returns: whether the credential's state changed.
  package func refused(_ place: Int, now: MonotonicTime) -> Bool {
    entries.withLock { entries in
      defer {
        entries[place].state = .refused
        entries[place].seen = now
      }
      return entries[place].state != .refused
    }
  }

  /// Copies the states of credentials that the replaced configuration also had. Credentials that were set
  /// aside there are tried again.
  ///
  /// - Parameter places: for each credential, its index in the other rotation; nil if it was not there.
  package func inherit(from other: CredentialRotation, places: [Int?]) {
    let known = other.entries.withLock { $0 }
    entries.withLock { entries in
      for (place, old) in places.enumerated() {
        guard let old else { continue }
        entries[place] = Entry(state: known[old].state, seen: known[old].seen)
      }
    }
  }

  /// Ends the time for which credentials are set aside. Their states stay.
  package func endRests() {
    entries.withLock { entries in
      for place in entries.indices {
        entries[place] = Entry(state: entries[place].state, seen: entries[place].seen)
      }
    }
  }

  /// The state of the credential at an index.
  package func status(
    of place: Int, name: String, clientID: String, role: CredentialRole, now: MonotonicTime
  ) -> CredentialStatus {
    let entry = entries.withLock { $0[place] }
    return CredentialStatus(
      name: name, clientID: clientID, role: role, state: entry.state,
      age: entry.seen.map { now - $0 },
      retryIn: entry.isResting(now) ? entry.restsUntil.map { $0 - now } : nil)
  }

  /// How long a credential is set aside after a number of refusals in a row: a minute, doubling to 10 min,
  /// plus up to a tenth at random. Talkdesk takes minutes to recognize a new client or key, and an attempt
  /// costs one request.
  package static func rest(after faults: Int, unit: Double) -> Duration {
    .seconds(min(60 * Double(1 << min(max(faults - 1, 0), 10)), 600) * (1 + unit / 10))
  }
}
