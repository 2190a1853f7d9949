// Reads the file of a Google service account, and derives the URL of FCM from it.

package import JOSE
import JSON

/// A Google service account with which this server authenticates to Google.
package struct ServiceAccount: Sendable {
  let projectID: String
  let clientEmail: String
  let keyID: String
  let signer: DeferredSigner
  /// The token endpoint's URL. The caller checks that assertions may be sent there.
  package let tokenURI: String

  /// Creates an account from its parts. `signer` may create the key later.
  package init(
    projectID: String, clientEmail: String, keyID: String, tokenURI: String, signer: DeferredSigner
  ) {
    self.projectID = projectID
    self.clientEmail = clientEmail
    self.keyID = keyID
    self.tokenURI = tokenURI
    self.signer = signer
  }

  /// Reads the JSON file from the Firebase console.
  package init(parsing content: [UInt8]) throws(NoticeSettingError) {
    let object: JSONObject?
    do {
      object = try JSONValue(parsing: content).object
    } catch {
      throw Self.error("is not JSON: \(error)")
    }
    guard let object else { throw Self.error("is not a JSON object") }
    guard object["type"]?.string == "service_account" else {
      throw Self.error("has a type other than service_account")
    }
    projectID = try Self.text(object, "project_id", isAllowed: Self.isNameOctet)
    clientEmail = try Self.text(object, "client_email", isAllowed: { (0x21...0x7E).contains($0) })
    keyID = try Self.text(object, "private_key_id", isAllowed: Self.isNameOctet)
    tokenURI = try Self.text(object, "token_uri", isAllowed: { (0x21...0x7E).contains($0) })
    guard let key = object["private_key"]?.string else { throw Self.error("has no private_key") }
    do throws(KeyError) {
      signer = DeferredSigner(try Signer(key: PrivateKey(key), algorithm: .RS256))
    } catch {
      throw Self.error("has a private_key that cannot be used: \(error)")
    }
  }

  private static func text(
    _ object: JSONObject, _ name: String, isAllowed: (UInt8) -> Bool
  ) throws(NoticeSettingError) -> String {
    guard let text = object[name]?.string else { throw error("has no \(name)") }
    guard (1...1024).contains(text.utf8.count), text.utf8.allSatisfy(isAllowed) else {
      throw error("has a malformed \(name)")
    }
    return text
  }

  /// Whether the octet is a letter, a digit, `-`, `.`, `:` or `_`, which are safe in a path.
  private static func isNameOctet(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
    default: false
    }
  }

  private static func error(_ words: String) -> NoticeSettingError {
    NoticeSettingError(
      "service_account_file", words,
      "get the file in the Firebase console: Project settings, Service accounts, Generate new private key")
  }
}

/// The URL of FCM, and the service account to use there.
package struct FCMSettings: Sendable, Equatable {
  let access: GoogleAccess
  /// The URL to which notifications are sent.
  let url: String

  /// The Firebase project, for operators.
  package var projectID: String { access.account.projectID }

  /// Creates the settings.
  ///
  /// - Parameters:
  ///   - url: Another base URL of the API, checked by the caller.
  ///   - tokenURL: A token endpoint other than the account's, checked by the caller.
  package init(_ account: ServiceAccount, url: String? = nil, tokenURL: String? = nil) {
    access = GoogleAccess(
      account, tokenURL: tokenURL, scope: "https://www.googleapis.com/auth/firebase.messaging",
      setting: "notices.fcm")
    var base = url ?? "https://fcm.googleapis.com"
    if base.utf8.last == UInt8(ascii: "/") { base.removeLast() }
    self.url = "\(base)/v1/projects/\(account.projectID)/messages:send"
  }
}
