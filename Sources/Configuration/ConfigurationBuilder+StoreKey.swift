// Reads and checks the store keys, and requires one for installations.

import Callers
import Documents
import Installations
import JOSE
package import Sealing
import Texts

extension ConfigurationBuilder {
  /// Reads `store.key_file` and `store.previous_key_file`, with their variables. Nil without a current key,
  /// after a problem, or if the purpose opens no store key.
  package mutating func storeKeys() -> StoreKeys? {
    guard purpose.opensStoreKey else { return nil }
    let current = storeKey(Settings.storeKey)
    let previous = storeKey(Settings.previousStoreKey)
    guard let place = place(of: Settings.previousStoreKey) else {
      return current.map { StoreKeys(current: $0) }
    }
    let name = Settings.previousStoreKey.setting.name
    guard self.place(of: Settings.storeKey) != nil else {
      problems.add(
        place, name,
        Refusal(
          "is set without the current key", "set CALLGATE_STORE_KEY (store.key_file), or remove this one"))
      return nil
    }
    guard let current, let previous else { return nil }
    guard current.mark != previous.mark else {
      problems.add(
        place, name,
        Refusal("is the current store key", "give the other key of the rotation, or remove this one")
      )
      return nil
    }
    return StoreKeys(current: current, previous: previous)
  }

  /// Requires a store key for installations, except in the sandbox, which makes one.
  mutating func judgeInstallations(_ apps: [Configuration.App]) {
    guard purpose.opensStoreKey, purpose != .sandbox, place(of: Settings.storeKey) == nil,
      let app = apps.first(where: { $0.installations != nil }),
      let node = partial.sections["apps"]?[app.id]?["installations"]
    else { return }
    problems.add(node.place, "apps.\(app.id).installations", .needsStoreKey)
  }

  /// Notes apps whose installations are authorized by users although no caller of the app has users.
  mutating func noteAuthorizers(_ apps: [Configuration.App], _ callers: [ConfiguredCaller]) {
    // An invalid caller may be one with users.
    guard callerIDs(callers).count == callers.count else { return }
    for app in apps where app.installations?.authorize.contains(.user) ?? false {
      let hasUsers = callers.contains { caller in
        guard case .jwt = caller.proof else { return false }
        return app.callers?.contains(exactly: caller.id) ?? true
      }
      guard !hasUsers,
        let place = partial.sections["apps"]?[app.id]?["installations"]?["authorize"]?.place
      else { continue }
      problems.note(
        place,
        "apps.\(app.id).installations.authorize lists user, and no caller of this app has users: no user can authorize a phone "
          + "until a caller has jwt")
    }
  }

  private mutating func storeKey(_ setting: TypedSetting<String>) -> StoreKey? {
    guard let (bytes, place) = secret(setting) else { return nil }
    do throws(StoreKey.Malformed) {
      return try StoreKey(text: bytes)
    } catch {
      let refusal =
        Self.looksLikePath(bytes)
        ? Refusal(
          "contains a path, not a key", "set \(setting.setting.fileVariable ?? "") to the path instead")
        : Refusal(
          "is not a store key",
          "give 32 bytes as Base64 or hex; `callgate key generate --store` prints one")
      problems.add(place, setting.setting.name, refusal)
      return nil
    }
  }
}
