// The settings of apps: their callers, tokens, installations, and the context of their callbacks.

package import Callers
import Documents
package import Installations
import JOSE

extension Configuration {
  /// An app that callers send requests for.
  public struct App: Sendable {
    /// The app's name, as in `POST /token/{app}`.
    public let id: String
    /// The callers that may use the app; nil for every caller.
    public package(set) var callers: [String]?
    /// The scope of its tokens; nil for the account's scope.
    public let scope: String?
    /// How the app gets its tokens.
    public let delivery: Delivery
    /// The chat desk whose session tokens the app gets; nil if it gets Talkdesk's tokens.
    public let desk: String?
    /// The app's Talkdesk numbers, the default first; empty for those of `callbacks`.
    public let talkdeskPhoneNumbers: [String]
    /// The context that its callbacks may have; nil if any well-formed context is accepted.
    public let contextSchema: ContextSchema?
    /// The terms for enrolling phones. Nil if no phone may be enrolled.
    package let installations: InstallationTerms?
    /// The terms on which its requests need an App Check token. Nil if they need none.
    package let appCheck: AppCheckTerms?
    /// The terms on which enrolling a phone needs an attestation. Nil if it needs none.
    package let attested: AttestedTerms?
    /// Whether callbacks of its installations carry a verification code.
    public let verificationCode: Bool

    /// A way to deliver tokens to an app.
    public enum Delivery: String, Sendable, CaseIterable {
      /// In the response to the request.
      case response
      /// By push: the installation's device gets a notification, with which the app claims the token.
      case push
    }

    /// A field that the server adds to callbacks with a verification code, as the agent sees it.
    package struct VerificationField: Sendable {
      package let name: String
      package let displayName: String
      package let tooltip: String
    }

    /// The added fields: the code, and the installation's `client_id`.
    package static let verificationFields = [
      VerificationField(
        name: "verification_code", displayName: "Verification code",
        tooltip: "The customer's app shows this code"),
      VerificationField(
        name: "installation", displayName: "Installation", tooltip: "The client_id of the customer's app"),
    ]
  }

  /// The fields that the context of an app's callbacks may have.
  public struct ContextSchema: Sendable, Hashable {
    /// The fields that the schema lists, in the order of the configuration file.
    public let fields: [Field]
    /// The fields that the server adds to every callback, in the order of the configuration file.
    public let additions: [Addition]
    /// Whether other fields are accepted too.
    public let allowsOthers: Bool

    /// A field of the context.
    public struct Field: Sendable, Hashable {
      public let name: String
      /// The label that the agent sees; nil leaves it to the client.
      public let displayName: String?
      /// The tooltip that the agent sees; nil leaves it to the client.
      public let tooltip: String?
      /// The type that the value must have.
      public let dataType: DataType
      /// The maximum length of the value, in characters; nil for the general limit.
      public let maximumLength: Int?
      /// Whether a context must have the field.
      public let isRequired: Bool
    }

    /// A field that the server adds to each callback.
    public struct Addition: Sendable, Hashable {
      public let name: String
      public let value: String
    }

    /// Talkdesk's types of context values.
    public enum DataType: String, Sendable, CaseIterable { case phone, text, url }
  }
}
