// Records when each present problem began and how many requests it affected.

package import Platform
import Synchronization

/// The start times and counts of present problems. Code that notices a failure calls `began`; code that lists
/// problems calls `note`.
///
/// A request for a cached token does not use this type, so it never waits for the lock.
package final class Troubles: Sendable {
  /// A present problem.
  package struct Open: Sendable {
    /// When the problem began.
    package let since: UnixTime
    /// How many requests the problem affected since then.
    package var hits = 0
    /// When the problem last affected a request; nil if it has affected none yet.
    package var lastHit: UnixTime?
    /// For a limit: when the next request would pass.
    package var passesAt: UnixTime?
    /// The cause, in words for operators.
    package var cause = ""
  }

  private struct Key: Hashable {
    let code: Attention.Code
    let name: String
  }

  /// The maximum number of stored problems. Their names come from the configuration and from stops by
  /// operators.
  static let most = 1000
  /// The time after its last refusal for which a limit counts as used up.
  package static let limitMemory = Duration.seconds(60)

  private let open = Mutex<[Key: Open]>([:])

  package init() {}

  /// Records a present problem.
  /// - Parameters:
  ///   - name: Tells problems of one code apart: a provider, a desk, a rule.
  ///   - cause: Replaces the earlier cause.
  package func began(_ code: Attention.Code, _ name: String = "", cause: String = "", at time: UnixTime) {
    open.withLock { open in
      guard open[Key(code: code, name: name)] != nil || open.count < Self.most else { return }
      open[Key(code: code, name: name), default: Open(since: time)].cause = cause
    }
  }

  /// Removes a problem that has ended.
  package func ended(_ code: Attention.Code, _ name: String = "") {
    open.withLock { _ = $0.removeValue(forKey: Key(code: code, name: name)) }
  }

  /// Records whether a problem is present, for problems whose state can be read at any time.
  /// - Returns: The problem, if it is present.
  package func note(_ code: Attention.Code, _ name: String = "", isThere: Bool, at time: UnixTime) -> Open? {
    open.withLock { open in
      let key = Key(code: code, name: name)
      guard isThere else {
        open[key] = nil
        return nil
      }
      if let known = open[key] { return known }
      let begun = Open(since: time)
      if open.count < Self.most { open[key] = begun }
      return begun
    }
  }

  /// The problem with a code and name; nil if it is not present.
  package func present(_ code: Attention.Code, _ name: String = "") -> Open? {
    open.withLock { $0[Key(code: code, name: name)] }
  }

  /// All problems with a code, with their names, sorted by name.
  package func all(_ code: Attention.Code) -> [(name: String, open: Open)] {
    open.withLock { open in
      open.filter { $0.key.code == code }.map { ($0.key.name, $0.value) }.sorted { $0.name < $1.name }
    }
  }

  /// Removes the problems of a code whose names are not in `names`.
  package func forget(_ code: Attention.Code, besides names: Set<String>) {
    open.withLock { open in open = open.filter { $0.key.code != code || names.contains($0.key.name) } }
  }

  /// Counts a request that met a problem. Does nothing if the problem is not present.
  package func hit(_ code: Attention.Code, _ name: String = "", at time: UnixTime) {
    open.withLock { $0[Key(code: code, name: name)]?.hit(at: time) }
  }

  /// Records that a rule refused a request because its allowance is used up.
  /// - Parameter wait: Whole seconds until the next request passes.
  func refused(by rule: String, for wait: Int, at time: UnixTime) {
    open.withLock { open in
      let key = Key(code: .quota, name: rule)
      if let last = open[key]?.lastHit, !(.zero...Self.limitMemory).contains(time - last) {
        open[key] = nil
      }
      guard open[key] != nil || open.count < Self.most else { return }
      var limit = open[key] ?? Open(since: time)
      limit.hit(at: time)
      limit.passesAt = time.advanced(bySeconds: Int64(wait))
      open[key] = limit
    }
  }
}

extension Troubles.Open {
  fileprivate mutating func hit(at time: UnixTime) {
    hits += 1
    lastHit = time
  }
}
