// Finds notices of callbacks in the store by their ids, and notes which ends the app has read.

package import API
import Gate
package import Installations
import JOSE
import Notices
package import Platform
import Records
package import Sealing
package import Store

/// What the store knows of notices of callbacks. It outlives a configuration.
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

  /// The notice of an id, which may be any text; nil where it is not known, older than a day, or an installation's that was revoked or
  /// replaced. Everything that an id allows begins here.
  package func find(_ text: String) async throws(Problem) -> FoundNotice? {
    guard let id = NoticeID(text) else { return nil }
    let found: FoundNotice?
    do throws(StoreError) { found = try await store.notice(id.digest) } catch { throw Problem(error) }
    guard let found, Instant(clock.unixTime) < found.notice.created.advanced(by: ClaimBook.memory) else {
      return nil
    }
    // It goes to the device that the callback's request named.
    guard !found.notice.installation.isDevice else { return found }
    let holds: Bool
    do throws(StoreError) {
      holds = try await directory.holds(found.notice.installation, made: found.record?.createdAt)
    } catch { throw Problem(error) }
    return holds ? found : nil
  }

  /// Notes that the app reads the end of a callback in a response. Where the store fails, a notice tells it once more.
  package func told(_ record: StoredCallback) {
    guard record.waitsToBeTold else { return }
    told(record.id)
  }

  /// The same by the id alone.
  package func told(_ id: CallbackID) {
    Task { [store] in
      do throws(StoreError) { try await store.told(id) } catch {}
    }
  }
}
