// The settings for the Talkdesk account: its URLs, credentials, tokens and callbacks.

public import JOSE
public import Talkdesk
import Texts
public import Upstream

extension Configuration {
  /// The Talkdesk account.
  public struct TalkdeskAccount: Sendable {
    /// The region the account lives in.
    public package(set) var region: Region
    /// The scope of tokens, unless an app has its own; scope tokens separated by one space.
    public package(set) var scope: String
    /// Talkdesk's endpoints and the credential. Nil if the purpose needs no credential, or if all apps have
    /// chat desks and no credential is configured. The sandbox sets its emulator here.
    public var upstream: Upstream?
  }

  /// Talkdesk's endpoints and our credential.
  public struct Upstream: Sendable {
    /// The complete URL of the token endpoint.
    public let tokenURL: String
    /// The base URL of the API, without a slash at the end. Requests append their paths, such as
    /// `/calls/callback`.
    public let apiURL: String
    /// The `aud` of client assertions.
    public let audience: String
    /// The OAuth client.
    public let clientID: String
    /// How the client authenticates.
    public let authentication: ClientAuthentication

    /// Makes the endpoints and credential without checking them.
    public init(
      tokenURL: String, apiURL: String, audience: String? = nil, clientID: String,
      authentication: ClientAuthentication
    ) {
      self.tokenURL = tokenURL
      self.apiURL = apiURL
      self.audience = audience ?? tokenURL
      self.clientID = clientID
      self.authentication = authentication
    }
  }

  /// The two ways an OAuth client authenticates to Talkdesk ID.
  public enum ClientAuthentication: Sendable {
    /// A signed JWT (RFC 7523). `next` is tried first while a rotation is under way.
    case key(SigningKey, next: SigningKey?)
    /// HTTP Basic with a client secret.
    case secret(Secret)
  }

  /// A signing key, with the id by which Talkdesk knows it.
  public struct SigningKey: Sendable {
    /// The `kid`.
    public let id: String
    /// The `alg`, which must fit the key.
    public let algorithm: SignatureAlgorithm
    /// Where the key is.
    public let source: Source
    /// The OAuth client that the key belongs to; nil for the upstream's client.
    public let clientID: String?

    /// Makes a signing key without checking that the algorithm fits it.
    public init(id: String, algorithm: SignatureAlgorithm, source: Source, clientID: String? = nil) {
      self.id = id
      self.clientID = clientID
      self.algorithm = algorithm
      self.source = source
    }

    /// Where a key is.
    public enum Source: Sendable {
      /// In this process.
      case key(PrivateKey)
      /// In Vault or OpenBao, which signs. The authorities are those to trust there; nil for those of all
      /// other outbound requests.
      case signer(TransitSettings, Authorities?)
    }
  }

  /// The region where Talkdesk hosts an account.
  public typealias Region = Talkdesk.Region

  /// How tokens are cached and vended.
  public struct Tokens: Sendable, Hashable {
    /// Whether requests share one token per scope (true), or each gets a new one.
    public package(set) var share: Bool
    /// The minimum time left on a shared token when the server issues it.
    public package(set) var minimumRemaining: Duration
    /// The time limit of a token exchange, retries included.
    public package(set) var deadline: Duration
  }

  /// The settings for callbacks. The times for duplicates, keys and records also apply to tickets.
  public struct Callbacks: Sendable, Hashable {
    /// The account's numbers (E.164), for requests without an app that has its own. All are allowed, and the
    /// first is the default.
    public package(set) var talkdeskPhoneNumbers: [String]
    /// How long a second callback for the same owner and number, or the same ticket again, counts as a
    /// duplicate; zero turns the check off.
    public package(set) var dedupeWindow: Duration
    /// How long an `Idempotency-Key` is remembered.
    public package(set) var keyRetention: Duration
    /// How long the server stores the record of a callback or ticket.
    public package(set) var retention: Duration
    /// The time limit of a callback request after its last byte, for the queue, the token and the requests to
    /// Talkdesk.
    public package(set) var timeout: Duration
    /// How many callbacks may run at once.
    public package(set) var concurrency: Int
  }
}

extension Configuration.TalkdeskAccount {
  /// The region's name, as in `talkdesk.region`.
  package var regionName: String { region.rawValue }

  /// How two configurations differ in their use of Talkdesk.
  package enum Change {
    /// No difference, even if the values were read from other files.
    case none
    /// The same account with another credential. Tokens of either credential work with the same API.
    case credential
    /// Another account, other endpoints or another scope. Also if only one of the two has an account.
    case account
  }

  /// The change from another configuration to this one.
  package func change(since other: Self) -> Change {
    if upstream == nil, other.upstream == nil, scope == other.scope { return .none }
    guard scope == other.scope, let upstream, let others = other.upstream,
      upstream.tokenURL == others.tokenURL,
      upstream.apiURL == others.apiURL, upstream.audience.hasSameBytes(as: others.audience)
    else { return .account }
    let isSame =
      upstream.clientID == others.clientID && upstream.authentication.isSame(as: others.authentication)
    return isSame ? .none : .credential
  }
}

extension Configuration.ClientAuthentication {
  fileprivate func isSame(as other: Self) -> Bool {
    switch (self, other) {
    case (.secret(let mine), .secret(let theirs)):
      constantTimeEqual(mine.exposedBytes(), theirs.exposedBytes())
    case (.key(let mine, let next), .key(let theirs, let theirNext)):
      mine.isSame(as: theirs)
        && (next.map { mine in theirNext.map { mine.isSame(as: $0) } ?? false } ?? (theirNext == nil))
    case (.secret, .key), (.key, .secret): false
    }
  }
}

extension Configuration.SigningKey {
  fileprivate func isSame(as other: Self) -> Bool {
    guard id == other.id, algorithm == other.algorithm, clientID == other.clientID else { return false }
    return switch (source, other.source) {
    case (.key(let mine), .key(let theirs)):
      mine.publicKey.subjectPublicKeyInfo == theirs.publicKey.subjectPublicKeyInfo
    case (.signer(let mine, let authorities), .signer(let theirs, let others)):
      mine == theirs && authorities == others
    case (.key, .signer), (.signer, .key): false
    }
  }
}
