// Gives a configuration for the sandbox what the sandbox has of its own: users, providers of notices, and an admin token.

import Callers
package import JOSE
package import Notices
package import Outcomes
import Platform
import Texts
import Trust

extension Configuration {
  /// Whether the sandbox makes an admin token: only this machine reaches the server, and operators have neither tokens nor a
  /// listener.
  package var takesAdminToken: Bool {
    admin.token == nil && !admin.namesOperators && admin.listener == nil
      && IPAddress(listen.host)?.isLoopback == true
  }

  /// Opens the operator's page on the public port, where the configuration leaves that to the sandbox.
  package mutating func addAdminToken(_ token: Secret) {
    if takesAdminToken { admin.token = token }
  }

  /// Has the sandbox sign tokens of App Check, unless the configuration names the keys of another.
  package mutating func useKeysOfAppCheck(at url: String) {
    if appCheck?.keysURL == Settings.appCheckKeysURL { appCheck?.keysURL = url }
  }

  /// Has the sandbox's root vouch for phones, unless the configuration names another root than Apple's.
  package mutating func useRootOfAppAttest(_ root: X509Certificate) {
    guard appAttest?.hasOwnRoot == false else { return }
    appAttest?.policy.root = root
  }

  /// Whether no caller is configured. The sandbox's own users are none.
  package var hasNoOwnCaller: Bool {
    callers.allSatisfy { $0.id.hasSameBytes(as: Caller.sandboxUsersID) }
  }

  /// Adds the caller of the sandbox's own users, which every app takes.
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

  /// Takes events of the emulated Talkdesk, where the configuration has no hook of its own.
  package mutating func addHook(_ secret: HookSecret) {
    var settings = outcomes ?? OutcomeSettings(hooks: [])
    settings.hooks.append(secret)
    outcomes = settings
  }

  /// Adds the sandbox's providers of notices and its URL, where the configuration has none.
  ///
  /// - Parameters:
  ///   - externalURL: The URL of this server.
  ///   - serviceAccount: Who the server is for FCM.
  ///   - fcmURL: The base URL of FCM's API.
  ///   - hookURL: The receiver of webhooks.
  ///   - hookSecret: The file of secrets that sign webhooks.
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
