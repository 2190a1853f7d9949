// What a gateway needs to send notices to the emulator.

public import JOSE

/// How a gateway sends notices to the emulator.
public struct NoticeProviders: Sendable {
  /// The file of a service account.
  public let serviceAccount: Secret
  /// The base URL of the emulated FCM.
  public let fcmURL: String
  /// The receiver of web hooks.
  public let hookURL: String
  /// The file with the secret that signs web hooks.
  public let hookSecret: Secret

  init(_ account: ServiceAccount, hookSecret: [UInt8], at baseURL: String) {
    serviceAccount = Secret(account.file(tokenURL: baseURL + NoticeService.tokenPath))
    fcmURL = baseURL
    hookURL = baseURL + NoticeService.hookPath
    self.hookSecret = Secret("whsec_" + Base64.encode(hookSecret))
  }
}
