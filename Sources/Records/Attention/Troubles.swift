// Remembers since when each problem is there and how many requests it hit.

package import Platform
import Synchronization

/// The beginnings and counts of present problems. Who notices a failure says `began`; who lists problems says `note`.
///
/// It is not on the way of a request that is allowed.
package final class Troubles: Sendable {
  /// A problem that is there.
  package struct Open: Sendable {
    /// When it began.
    package let since: UnixTime
    /// How many requests it hit since then.
    package var hits = 0
    /// When it last hit one.
    package var lastHit: UnixTime?
    /// For a limit: when the next request would pass.
    package var passesAt: UnixTime?
    /// Its cause, in words for operators.
    package var cause = ""
  }

  private struct Key: Hashable {
    let code: Attention.Code
    let name: String
  }

  /// The most problems that are remembered. Their names come from the configuration.
  static let most = 1000
  /// How long after its last refusal a limit counts as refusing.
  package static let limitMemory = Duration.seconds(60)

  private let open = Mutex<[Key: Open]>([:])

  /// None is there.
  package init() {}

  /// A problem is there.
  /// - Parameters:
  ///   - name: Tells problems of one code apart: a provider, a desk, a rule.
  ///   - cause: Replaces the cause of before.
  package func began(_ code: Attention.Code, _ name: String = "", cause: String = "", at time: UnixTime) {
    open.withLock { open in
      guard open[Key(code: code, name: name)] != nil || open.count < Self.most else { return }
      open[Key(code: code, name: name), default: Open(since: time)].cause = cause
    }
  }

  /// A problem is over.
  package func ended(_ code: Attention.Code, _ name: String = "") {
    open.withLock { _ = $0.removeValue(forKey: Key(code: code, name: name)) }
  }

  /// Notes whether a problem is there, for one whose state can be read at any time.
  /// - Returns: The problem, if it is there.
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

  /// The problem of a code and name; nil if it is not there.
  package func present(_ code: Attention.Code, _ name: String = "") -> Open? {
    open.withLock { $0[Key(code: code, name: name)] }
  }

  /// The names of a code's problems, with the problems.
  package func all(_ code: Attention.Code) -> [(name: String, open: Open)] {
    open.withLock { open in
      open.filter { $0.key.code == code }.map { ($0.key.name, $0.value) }.sorted { $0.name < $1.name }
    }
  }

  /// Forgets the problems of a code whose names are not among these.
  package func forget(_ code: Attention.Code, besides names: Set<String>) {
    open.withLock { open in open = open.filter { $0.key.code != code || names.contains($0.key.name) } }
  }

  /// A problem hit a request. Without the problem nothing changes.
  package func hit(_ code: Attention.Code, _ name: String = "", at time: UnixTime) {
    open.withLock { $0[Key(code: code, name: name)]?.hit(at: time) }
  }

  /// A rule refused a request because its allowance is used up.
  /// - Parameter wait: The whole seconds after which the next request passes.
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
