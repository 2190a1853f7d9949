// Short names for the actions of stops in tests.

import Gate
import Store

extension Stop.Action {
  static let access = Stop.Action.one(.access)
  static let callback = Stop.Action.one(.callback)
}

extension Stop {
  /// The stops that are left of this stop of all actions once one of them is resumed, as `StopSet.list` shows
  /// them.
  func afterResuming(_ resumed: Action) -> [Stop] {
    Gate.Action.allCases.map { Action.one($0) }.filter { $0 != resumed }.sorted { $0.rawValue < $1.rawValue }
      .map { Stop(target, $0, since: since, until: until, reason: reason) }
  }
}
