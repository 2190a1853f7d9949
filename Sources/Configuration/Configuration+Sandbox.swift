// Points a configuration for the sandbox at the sandbox's own providers of notices.

package import JOSE
import Notices

extension Configuration {
  /// Adds the sandbox's providers of notices, where the configuration has none.
  ///
  /// - Parameters:
  ///   - serviceAccount: The file of the service account.
  ///   - fcmURL: The base URL of FCM's API.
  ///   - hookURL: The receiver of web hooks.
  ///   - hookSecret: The file of secrets that sign web hooks.
  package mutating func addProviders(
    serviceAccount: Secret, fcmURL: String, hookURL: String, hookSecret: Secret
  ) {
    var notices = notices ?? Notices()
    do throws(NoticeSettingError) {
      if notices.fcm == nil {
        notices.fcm = FCMSettings(try ServiceAccount(parsing: serviceAccount.exposedBytes()), url: fcmURL)
      }
      if notices.http == nil {
        notices.http = Notices.Hook(
          url: hookURL, secrets: try HookSecrets(parsing: hookSecret.exposedBytes()))
      }
    } catch {
      preconditionFailure("the sandbox made them: \(error)")
    }
    self.notices = notices
  }
}
