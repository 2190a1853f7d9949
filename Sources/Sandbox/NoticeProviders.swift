// The settings with which a gateway sends push notifications to the emulator.

public import JOSE

/// The credentials and URLs with which a gateway sends push notifications to the emulator.
public struct NoticeProviders: Sendable {
  /// The Firebase project, and the service account that may send there.
  public let projectID, clientEmail, keyID: String
  /// The signer for the account's assertions.
  public let signer: DeferredSigner
  /// The URL that issues the account's access tokens.
  public let tokenURL: String
  /// The base URL of the emulated FCM.
  public let fcmURL: String
  /// The URL of the webhook receiver.
  public let hookURL: String
  /// The content of the file with the secret that signs webhooks.
  public let hookSecret: Secret

  init(_ account: FCMAccount, hookSecret: [UInt8], at baseURL: String) {
    projectID = FCMAccount.projectID
    clientEmail = FCMAccount.clientEmail
    keyID = account.keyID
    signer = account.signer
    tokenURL = baseURL + NoticeService.tokenPath
    fcmURL = baseURL
    hookURL = baseURL + NoticeService.hookPath
    self.hookSecret = Secret("whsec_" + Base64.encode(hookSecret))
  }
}
