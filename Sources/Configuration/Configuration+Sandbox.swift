// Adds the sandbox's own parts to its configuration: users, push providers, keys and an admin token.

import Callers
package import JOSE
package import Notices
package import Outcomes
import Platform
import Texts
import Trust

extension Configuration {
  /// Whether the sandbox makes an admin token: if only this machine can reach the server, and the
  /// configuration has neither an admin token, nor named operators, nor an admin listener.
  package var takesAdminToken: Bool {
    admin.token == nil && !admin.namesOperators && admin.listener == nil
      && IPAddress(listen.host)?.isLoopback == true
  }

  /// Sets the admin token that opens the operators' page on the public port, if `takesAdminToken` is true.
  package mutating func addAdminToken(_ token: Secret) {
    if takesAdminToken { admin.token = token }
  }

  /// Makes the server trust the sandbox's keys for App Check tokens, unless the configuration names another
  /// URL of keys.
  package mutating func useKeysOfAppCheck(at url: String) {
    if appCheck?.keysURL == Settings.appCheckKeysURL { appCheck?.keysURL = url }
  }

  /// Makes the server trust the sandbox's root certificate for App Attest, unless the configuration names a
  /// root of its own.
  package mutating func useRootOfAppAttest(_ root: X509Certificate) {
    guard appAttest?.hasOwnRoot == false else { return }
    appAttest?.policy.root = root
  }

  /// Whether no caller is configured. The sandbox's own users do not count.
  package var hasNoOwnCaller: Bool {
    callers.allSatisfy { $0.id.hasSameBytes(as: Caller.sandboxUsersID) }
  }

  /// Adds the caller of the sandbox's own users, which may use every app.
  ///
  /// - Parameters:
  ///   - key: The secret that signs the users' JWTs.
  package mutating func addUsers(of issuer: String, audience: String, key: SymmetricKey) {
    let id = Caller.sandboxUsersID
    guard !callers.contains(where: { $0.id.hasSameBytes(as: id) }) else { return }
    callers.append(
      ConfiguredCaller(
        id: id,
        proof: .jwt(JWTIssuer(issuer: issuer, audience: audience, keys: .secret(key), subjectClaim: "sub"))))
    for index in apps.indices { apps[index].callers?.append(id) }
  }

  /// Accepts events of the emulated Talkdesk, in addition to those of configured hooks.
  package mutating func addHook(_ secret: HookSecret) {
    var settings = outcomes ?? OutcomeSettings(hooks: [])
    settings.hooks.append(secret)
    outcomes = settings
  }

  /// Adds the sandbox's push providers and URL where the configuration has none.
  ///
  /// - Parameters:
  ///   - externalURL: The URL of this server.
  ///   - serviceAccount: The server's service account at FCM.
  ///   - fcmURL: The base URL of FCM's API.
  ///   - hookURL: The receiver of webhooks.
  ///   - hookSecret: The content of a file of secrets that sign webhooks.
  package mutating func addProviders(
    externalURL: String, serviceAccount: ServiceAccount, fcmURL: String, hookURL: String, hookSecret: Secret
  ) {
    var notices = notices ?? Notices()
    if notices.externalURL == nil { notices.externalURL = externalURLs.first ?? externalURL }
    do throws(NoticeSettingError) {
      if notices.fcm == nil { notices.fcm = FCMSettings(serviceAccount, url: fcmURL) }
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
