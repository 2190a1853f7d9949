// Creates the delivery of callbacks and appointments for a configuration, from the parts that survive a
// reload.

import API
package import Appointments
import Callers
import Deciding
package import Delivery
import Installations
import Responses
import Synchronization
package import Tokens

extension Generation {
  /// The settings for appointments that are due under this configuration.
  package func handling(_ runtime: Runtime) -> AppointmentSetting {
    AppointmentSetting(
      configuration: configuration, decider: decider,
      delivery: delivery(runtime.callbacks, tokens: runtime.tokens), directory: installationService?.directory
    )
  }

  /// The delivery of callbacks under this configuration.
  package func delivery(_ parts: CallbackParts, tokens: TokenSource) -> CallbackDelivery {
    delivery.withLock { delivery in
      if let delivery { return delivery }
      let made = CallbackDelivery(
        parts, tokens: tokens, stops: decider.stops, blocked: decider.blocked, courier: courier,
        scope: scopes.callbacks(tokens), upstream: upstream, code: { Problem($0).code.rawValue })
      delivery = made
      return made
    }
  }
}
