// Short names for the actions of stops in tests.

import Gate
import Store

extension Stop.Action {
  static let access = Stop.Action.one(.access)
  static let callback = Stop.Action.one(.callback)
}
