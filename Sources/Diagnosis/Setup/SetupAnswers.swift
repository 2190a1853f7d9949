// The answers that `callgate init` collects, the flags that can give them, and the dialog that asks for the
// rest.

import Configuration
import Documents
import JOSE
import Talkdesk

/// The complete answers for `callgate init`. The configuration's own readers accepted every part.
public struct SetupAnswers: Sendable {
  let account: String
  let region: Region
  let clientID: String
  let authentication: Configuration.ClientAuthentication
  let phoneNumber: String?
  let hours: SetupHours?
  let tokens: SetupTokens
  /// The address of the public port.
  let listen: ListenAddress
  /// The password that the app sends.
  let password: Secret
  /// The admin token; nil without an operator's page.
  let adminToken: Secret?
  /// The store key, as text.
  let storeKey: Secret
}

/// The app's use of its tokens, which decides their scope.
enum SetupTokens: String, CaseIterable, Sendable {
  case callback, sdk, both

  static func read(_ text: String) throws(Refusal) -> SetupTokens {
    guard let tokens = SetupTokens(rawValue: text.lowercased()) else {
      throw Refusal("\(quoted(text)) is unknown here", "use one of callback, sdk, both")
    }
    return tokens
  }
}

/// The flags of `callgate init`, as typed. Most of them answer a question, which is then not asked.
public struct SetupFlags: Sendable {
  public var account: String?
  public var region: String?
  public var clientID: String?
  public var clientSecretFile: String?
  public var privateKeyFile: String?
  public var keyID: String?
  public var keyAlgorithm: String?
  public var phoneNumber: String?
  public var hours: String?
  public var timezone: String?
  public var tokens: String?
  public var listen: String?
  public var passwordFile: String?
  /// The file with the existing store key; nil for a new key.
  public var storeKeyFile: String?
  /// Whether there is an operator's page.
  public var hasAdmin = true

  /// Makes flags that answer no question.
  public init() {}
}

/// Shows questions and reads answers.
public protocol SetupDialog {
  /// Shows a prompt and returns the line that was typed; nil at the end of input.
  func ask(_ prompt: String) -> String?
  /// Hides what the user types while `body` runs.
  func hiding<Answer>(_ body: () throws(SetupFailure) -> Answer) throws(SetupFailure) -> Answer
  /// Shows lines that need no answer.
  func say(_ text: String)
}

/// The reason why there are no answers.
public enum SetupFailure: Error, Sendable, Hashable {
  /// Flags are wrong or missing; one line per mistake.
  case mistakes([String])
  /// The input ended before the last question.
  case ended
  /// OpenSSL could not generate a password or key, for this reason.
  case generation(String)
}
