// The settings for callers and apps: who may send requests, and how each caller proves its identity.

package import Callers
import Documents
package import Installations
import JOSE

extension Configuration {
  /// An app that asks through callers.
  public struct App: Sendable {
    /// Its name, as in `POST /token/{app}`.
    public let id: String
    /// The callers it takes; nil takes every one.
    public package(set) var callers: [String]?
    /// What its tokens are for; nil takes the account's.
    public let scope: String?
    /// How its tokens reach it.
    public let delivery: Delivery
    /// The chat desk whose session tokens it gets in place of Talkdesk's tokens.
    public let desk: String?
    /// Its numbers at Talkdesk, the default first; empty takes those of `callbacks`.
    public let talkdeskPhoneNumbers: [String]
    /// What its callbacks may carry; nil takes anything well-formed.
    public let contextSchema: ContextSchema?
    /// On which terms phones may be enrolled; nil: none may.
    package let installations: InstallationTerms?
    /// By which terms its requests need a token of App Check; nil: they need none.
    package let appCheck: AppCheckTerms?
    /// By which terms its first requests for an installation need an attestation; nil: they need none.
    package let attested: AttestedTerms?
    /// Whether callbacks of its installations carry a verification code.
    public let verificationCode: Bool

    /// A way of tokens to an app.
    public enum Delivery: String, Sendable, CaseIterable {
      /// In the response to the request.
      case response
      /// A notice goes to the installation's device, and the app claims the token with it.
      case push
    }

    /// A field that the server adds to callbacks with a verification code, as the agent sees it.
    package struct VerificationField: Sendable {
      package let name: String
      package let displayName: String
      package let tooltip: String
    }

    /// Those fields: the code, and the installation's `client_id`.
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
    /// The fields it knows, in the order written.
    public let fields: [Field]
    /// Fields added to every callback: name and value, in the order written.
    public let additions: [Addition]
    /// Whether fields it does not know pass.
    public let allowsOthers: Bool

    /// A field of the context.
    public struct Field: Sendable, Hashable {
      /// The field's name.
      public let name: String
      /// The label that the agent sees; nil leaves it to the client.
      public let displayName: String?
      /// The tooltip that the agent sees; nil leaves it to the client.
      public let tooltip: String?
      /// What its value must be.
      public let dataType: DataType
      /// The longest value, in characters; nil leaves that to the general limit.
      public let maximumLength: Int?
      /// Whether it must be there.
      public let isRequired: Bool
    }

    /// A field the server adds.
    public struct Addition: Sendable, Hashable {
      /// The field's name.
      public let name: String
      /// Its value.
      public let value: String
    }

    /// Talkdesk's types of context values.
    public enum DataType: String, Sendable, CaseIterable { case phone, text, url }
  }
}
