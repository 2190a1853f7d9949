// Remembers which of a client's credentials work, and decides in which order to try them.

package import Platform
import Synchronization

/// The states of a client's credentials, and the order of trying them.
///
/// Talkdesk ID has one answer for an unknown key and for a scope that is not granted: 401. So a credential counts as
/// refused by its fault only where another one brought a token for the same request; it is then left aside for a while, so
/// that a key Talkdesk does not know yet does not cost each exchange a second request. Left aside means tried last, not
/// never: should the other key be retired meanwhile, the exchange that finds it out still succeeds.
package final class CredentialRotation: Sendable {
  private struct Entry {
    var state = CredentialStatus.State.untried
    /// When Talkdesk ID last accepted or refused it.
    var seen: MonotonicTime?
    /// When it was last found to be at fault.
    var faulted: MonotonicTime?
    /// How often in a row.
    var faults = 0
    var restsUntil: Expiry?

    func isResting(_ now: MonotonicTime) -> Bool { restsUntil.map { now < $0 } ?? false }
  }

  private let entries: Mutex<[Entry]>

  package init(count: Int) { entries = Mutex(Array(repeating: Entry(), count: count)) }

  /// The credentials' places in the order to try them: as configured, those left aside after the others.
  package func order(now: MonotonicTime) -> [Int] {
    entries.withLock { entries in
      let resting = entries.indices.filter { entries[$0].isResting(now) }
      return entries.indices.filter { !entries[$0].isResting(now) } + resting
    }
  }

  /// A credential brought a token, after others were refused in the same exchange.
  ///
  /// - Parameters:
  ///   - place: the credential's.
  ///   - refused: the places of the others.
  ///   - startedAt: when the exchange began.
  ///   - unit: a random number in 0..<1.
  /// - Returns: the places whose state changed.
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
        // Of exchanges that ran at the same time only the first counts.
        if let faulted = entries[other].faulted, startedAt < faulted { continue }
        entries[other].faulted = now
        entries[other].faults += 1
        entries[other].restsUntil = Expiry(now + Self.rest(after: entries[other].faults, unit: unit))
      }
      return changed
    }
  }

  /// Talkdesk ID said `invalid_client`, and no other credential is known to be better.
  ///
  /// - Returns: whether its state changed.
  package func refused(_ place: Int, now: MonotonicTime) -> Bool {
    entries.withLock { entries in
      defer {
        entries[place].state = .refused
        entries[place].seen = now
      }
      return entries[place].state != .refused
    }
  }

  /// Takes over the states of the same credentials from another configuration, but not the times for which they are set aside.
  ///
  /// - Parameter places: for each credential its place in the other, if it was there.
  package func inherit(from other: CredentialRotation, places: [Int?]) {
    let known = other.entries.withLock { $0 }
    entries.withLock { entries in
      for (place, old) in places.enumerated() {
        guard let old else { continue }
        entries[place] = Entry(state: known[old].state, seen: known[old].seen)
      }
    }
  }

  /// Tries all credentials again. Their states stay.
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

  /// How long a credential is left aside after so many refusals in a row: a minute, doubling to 10 min, up to a tenth more
  /// at random. Talkdesk takes minutes to know a new client or key, and trying costs one request.
  package static func rest(after faults: Int, unit: Double) -> Duration {
    .seconds(min(60 * Double(1 << min(max(faults - 1, 0), 10)), 600) * (1 + unit / 10))
  }
}
