// The settings for callers and apps: who may send requests, and how each caller proves its identity.

public import Documents
public import JOSE

extension Configuration {
  /// The id of requests without credentials, where those are served.
  public static let anonymousCaller = "anonymous"

  /// Somebody who may ask.
  public struct Caller: Sendable {
    /// Its unique name, as logged and as rules call it.
    public let id: String
    /// How it proves itself.
    public let proof: Proof

    /// How a caller proves itself.
    public enum Proof: Sendable {
      /// HTTP Basic (RFC 7617) with this user name and a password of this digest.
      case basic(username: String, password: SecretDigest)
      /// A Bearer credential or `X-API-Key` of this digest.
      case apiKey(SecretDigest)
      /// A JWT from an identity provider.
      case jwt(JWTIssuer)
    }
  }

  /// An identity provider whose tokens are taken.
  public struct JWTIssuer: Sendable {
    /// The exact `iss`.
    public let issuer: String
    /// The `aud` that must be among the token's.
    public let audience: String
    /// Where its keys are.
    public let keys: Keys
    /// The claim that names the subject.
    public let subjectClaim: String

    /// Where an issuer's keys come from.
    public enum Keys: Sendable {
      /// Fetched, and fetched again when they change.
      case url(String, DocumentPlace)
      /// A JWK set read from a file; at least one of its keys is usable.
      case set(JWKSet, path: String)
      /// A shared secret, for HS256.
      case secret(SymmetricKey)
      /// In a file that this purpose does not open.
      case unopened
    }
  }

  /// An app that asks through callers.
  public struct App: Sendable {
    /// Its name, as in `POST /token/{app}`.
    public let id: String
    /// The callers it takes; nil takes every one.
    public let callers: [String]?
    /// What its tokens are for; nil takes the account's.
    public let scope: String?
    /// Its numbers at Talkdesk, the default first; empty takes those of `callbacks`.
    public let talkdeskPhoneNumbers: [String]
    /// What its callbacks may carry; nil takes anything well-formed.
    public let contextSchema: ContextSchema?
  }

  /// What the context of an app's callbacks may carry.
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

/// The SHA-256 digest of a secret: enough to recognise it, and printed as little as the secret itself.
public struct SecretDigest: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  let value: SHA256Digest

  init(_ value: SHA256Digest) { self.value = value }

  /// A digest no known secret has, for purposes that never authenticate anybody.
  static let unmatchable = SecretDigest(SHA256Digest.zero)

  public var description: String { "<redacted>" }
  public var debugDescription: String { "<redacted>" }
  public var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
