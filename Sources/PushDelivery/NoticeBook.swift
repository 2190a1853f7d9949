// Finds notifications about callbacks by ID, and records that a response has already told the app how a
// callback ended.

package import API
import Gate
package import Installations
import JOSE
import Notices
package import Platform
import Records
package import Sealing
package import Store

/// Notifications about callbacks in the store. The book outlives a configuration.
package struct NoticeBook: Sendable {
  package let store: any CallbackNoticeStore
  let directory: InstallationDirectory
  let keys: StoreKeys
  let clock: any TimeSource

  package init(
    store: any CallbackNoticeStore, directory: InstallationDirectory, keys: StoreKeys, clock: any TimeSource
  ) {
    self.store = store
    self.directory = directory
    self.keys = keys
    self.clock = clock
  }

  /// Finds the notification with an ID, which may be any text. Nil if the ID is unknown, is older than a day,
  /// or belongs to an installation that was revoked or replaced. Every use of an ID starts with this check.
  package func find(_ text: String) async throws(Problem) -> FoundNotice? {
    guard let id = NoticeID(text) else { return nil }
    let found: FoundNotice?
    do throws(StoreError) { found = try await store.notice(id.digest) } catch { throw Problem(error) }
    guard let found, Instant(clock.unixTime) < found.notice.created.advanced(by: ClaimBook.memory) else {
      return nil
    }
    // This notification goes to the device that the callback's request named.
    guard !found.notice.installation.isDevice else { return found }
    let holds: Bool
    do throws(StoreError) {
      holds = try await directory.holds(found.notice.installation, made: found.record?.createdAt)
    } catch { throw Problem(error) }
    return holds ? found : nil
  }

  /// Records that the app reads the end of a callback in a response, so that no notification repeats it. If
  /// the store fails, a notification is sent nevertheless.
  package func told(_ record: StoredCallback) {
    guard record.waitsToBeTold else { return }
    told(record.id)
  }

  /// Records that the app reads the end of the callback with this ID.
  package func told(_ id: CallbackID) {
    Task { [store] in
      do throws(StoreError) { try await store.told(id) } catch {}
    }
  }
}
