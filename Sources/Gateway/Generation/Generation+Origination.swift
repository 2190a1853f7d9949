// How a configuration carries out callbacks with the parts that survive a reload.

import Callers
import Deciding
import Delivery
import Synchronization
import Tokens

extension Generation {
  /// What carries out callbacks under this configuration.
  func origination(_ parts: CallbackParts, tokens: TokenSource) -> Origination {
    origination.withLock { origination in
      if let origination { return origination }
      let made = Origination(
        parts, tokens: tokens, ledger: decider.ledger, stops: decider.stops, api: callbackAPI,
        scope: scopes.callbacks(tokens), upstream: upstream)
      origination = made
      return made
    }
  }
}
