// What a gateway needs to send notices to the emulator.

public import JOSE

/// How a gateway sends notices to the emulator.
public struct NoticeProviders: Sendable {
  /// The Firebase project, and the service account that may send there.
  public let projectID, clientEmail, keyID: String
  /// Signs the account's assertions.
  public let signer: DeferredSigner
  /// Where the account gets access tokens.
  public let tokenURL: String
  /// The base URL of the emulated FCM.
  public let fcmURL: String
  /// The receiver of webhooks.
  public let hookURL: String
  /// The file with the secret that signs webhooks.
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
