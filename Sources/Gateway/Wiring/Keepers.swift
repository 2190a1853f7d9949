// Creates the background work for due appointments and notifications (`AppointmentKeeper`, `NoticeKeeper`).

import Appointments
import Configuration
import Delivery
import Gate
import Platform
import PushDelivery
import Records
import Sealing
import Serving
import Store

extension AppointmentKeeper {
  /// Creates the keeper of a server's appointments.
  convenience init(
    _ runtime: Runtime, _ generations: Generations, _ keys: StoreKeys, _ audit: AuditLog, _ log: Log,
    notices: NoticeKeeper?
  ) {
    let parts = runtime.callbacks
    let carrier = AppointmentCarrier(
      parts, keys: keys, watch: runtime.appointments.watch, audit: audit, log: log,
      setting: { generations.current.handling(runtime) },
      onAccepted: { notices?.announce($0, from: $1) })
    self.init(
      store: parts.store.base, clock: parts.scheduler, inHand: parts.inHand,
      isClockRight: { runtime.storeHealth.isClockRight },
      lateness: { generations.current.appointments?.late }, handle: carrier.handle)
  }
}

extension NoticeKeeper {
  /// Creates the keeper of a server's notifications about callbacks.
  convenience init(_ push: PushParts, _ runtime: Runtime, _ generations: Generations) {
    self.init(
      push.notices, push.book, scheduler: runtime.callbacks.scheduler, metrics: runtime.metrics,
      isClockRight: { runtime.storeHealth.isClockRight },
      setting: {
        guard let push = generations.current.push, let notices = generations.current.configuration.notices
        else { return nil }
        return Setting(senders: push.senders, texts: notices.texts)
      })
  }
}
