// The follow-up work for appointments that ended because their installation was revoked or replaced. Also
// finds the installation of appointments that an earlier release saved.

package import Delivery
import Gate
package import Installations
package import Platform
package import Records
package import Sealing
package import Store

/// The follow-up work after the store ended appointments together with their installation. A process has one
/// instance of it.
package struct EndedWithInstallation: Sendable {
  private let parts: CallbackParts
  private let keys: StoreKeys
  private let watch: AppointmentWatch
  private let log: Log

  package init(
    _ parts: CallbackParts, keys: StoreKeys, watch: AppointmentWatch, log: Log
  ) {
    self.parts = parts
    self.keys = keys
    self.watch = watch
    self.log = log
  }

  /// This follow-up work, in the form that the installation service needs.
  package var consequences: InstallationConsequences {
    InstallationConsequences(receipts: receipts, complete: complete, findOut: parts.store.findOut)
  }

  /// The receipts of the allowances that an appointment used; nil if its content cannot be opened.
  private func receipts(_ id: CallbackID, _ content: [UInt8]) -> [KeptReceipt]? {
    do throws(StoreKeys.Failure) {
      return try AppointmentContent(opening: content, with: keys, for: id).receipts
    } catch {
      log.write(
        .error, "the content of an appointment cannot be opened, so its allowances stay used",
        ["id": id.description, "detail": "\(error)"])
      return nil
    }
  }

  /// Wakes the requests that wait for the appointments, and updates brakes and metrics.
  private func complete(_ ended: [EndedAppointment]) {
    for ended in ended {
      watch.changed(ended.record)
      parts.ended(ended.record.status, returning: ended.returned ?? [])
    }
  }
}

/// Finds the installation of appointments that an earlier release saved: reads it from the sealed content,
/// and saves it next to the content. A process has one, needed as long as instances of that release may book.
package struct OriginKeeper: Sendable {
  /// The time between two reads, so that an appointment is found within a minute.
  private static let interval = Duration.seconds(20)
  private static let portion = 256

  private let store: any AppointmentStore
  private let keys: StoreKeys
  private let clock: any TimeSource

  package init(store: any AppointmentStore, keys: StoreKeys, clock: any TimeSource) {
    self.store = store
    self.keys = keys
    self.clock = clock
  }

  /// Reads until the task is canceled. An index finds the appointments, so a read does not become slower with
  /// more of them.
  package func run() async {
    repeat { await noteAll() } while await clock.hasSlept(until: clock.now + Self.interval)
  }

  /// Saves the origins of all appointments whose content this instance can open. Another instance may have
  /// the key of the other appointments.
  func noteAll() async {
    // The store's health shows a failure. The next turn tries again.
    do throws(StoreError) {
      while !Task.isCancelled {
        let found = try await store.appointmentsWithoutOrigin(most: Self.portion)
        var count = 0
        for due in found {
          let content: AppointmentContent
          do throws(StoreKeys.Failure) {
            content = try AppointmentContent(opening: due.content, with: keys, for: due.record.id)
          } catch {
            continue
          }
          try await store.note(
            content.installation.map { .installation($0.identity) } ?? .other, of: due.record.id)
          count += 1
        }
        guard count > 0, found.count == Self.portion else { return }
      }
    } catch {}
  }
}
