// How a configuration carries out callbacks with the parts that survive a reload.

import API
import Callers
import Deciding
import Delivery
import Synchronization
import Tokens

extension Generation {
  /// What carries out callbacks under this configuration.
  func delivery(_ parts: CallbackParts, tokens: TokenSource) -> CallbackDelivery {
    delivery.withLock { delivery in
      if let delivery { return delivery }
      let made = CallbackDelivery(
        parts, tokens: tokens, stops: decider.stops, courier: courier, scope: scopes.callbacks(tokens),
        upstream: upstream, code: { Problem($0).code.rawValue })
      delivery = made
      return made
    }
  }
}
