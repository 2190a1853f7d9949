// The complete, validated configuration that the rest of the server reads.

public import Callers
public import Documents
public import Gate
package import Outcomes
public import Records
public import Sealing
package import Talkdesk
public import Upstream

/// Everything an operator decides, read and validated: no field of a `Configuration` needs checking again.
///
/// Only ``ConfigurationLoader`` makes one, from defaults, the YAML file, the environment and flags, in that
/// order.
public struct Configuration: Sendable {
  /// The purpose, which decides the required settings.
  public let purpose: ConfigurationPurpose
  /// The public listener and its trusted proxies.
  public package(set) var listen: Listen
  /// The URLs at which clients reach this server, without a slash at the end; empty if none is configured.
  public package(set) var externalURLs: [String]
  /// The admin interface: its listener, its token and the operators.
  public package(set) var admin: Admin
  /// The level and format of the log.
  public package(set) var log: LogSettings
  /// The settings for audit lines.
  public package(set) var audit: Audit
  /// The Talkdesk account.
  public var talkdesk: TalkdeskAccount
  /// The certificate authorities to trust for outbound requests; nil for the system's. Loading has read them
  /// and found certificates.
  public package(set) var authorities: Authorities?
  /// How Talkdesk's tokens are cached and vended.
  public package(set) var tokens: Tokens
  /// The callers: that of `DEFAULT_USERNAME` first, then the others in the order of the file. Their ids are
  /// unique.
  public package(set) var callers: [ConfiguredCaller]
  /// Whether a request without credentials is served, as the caller `anonymous`.
  public package(set) var allowAnonymous: Bool
  /// The apps, in the order of the file. Without an `apps` section: the app of Talkdesk's own samples, and in
  /// the sandbox more apps to try.
  public package(set) var apps: [App]
  /// The app of enrollment requests that name no app, if several apps have installations. Nil with an `apps`
  /// section.
  public package(set) var enrolmentApp: String?
  /// The business rules.
  public package(set) var policy: Policy
  /// The settings for callbacks, some of which also apply to tickets.
  public package(set) var callbacks: Callbacks
  /// The settings for booked callbacks; nil if none can be booked.
  public package(set) var appointments: Appointments?
  /// The Firebase project whose App Check tokens are accepted; nil for none.
  public package(set) var appCheck: AppCheck?
  /// The settings for App Attest. Nil if they are not configured and no app accepts its attestations.
  package var appAttest: AppAttest?
  /// The settings for Play Integrity. Nil if they are not configured.
  package var play: PlayIntegrity?
  /// The section `numbers`. Nil if it is not configured.
  package var numbers: Numbers?
  /// The services that GMS clients may request; nil for none.
  public package(set) var gms: GMS?
  /// The settings of `/mcp`, the interface for AI agents. Nil if they are not configured; the sandbox always
  /// has them.
  package var mcp: MCP?
  /// The settings for push notifications. Nil if none is configured, or if the purpose opens no secrets.
  public package(set) var notices: Notices?
  /// The settings for call outcomes. Nil if the server does not learn them.
  package var outcomes: OutcomeSettings?
  /// The settings for the number of available agents. Nil if the server does not learn it.
  package var live: LiveSettings?
  /// The chat desks, in the order of the file.
  public var desks: [Desk]
  /// The origins whose pages may send requests from a browser, exactly as in the `Origin` field.
  public package(set) var allowedOrigins: [String]
  /// Where the server stores its state.
  public package(set) var store: Store
  /// The keys of the store's sealed values. Nil without a store key, or if the purpose needs none.
  public package(set) var storeKeys: StoreKeys?
  /// The limits for clients, and the times of a shutdown.
  public package(set) var limits: Limits
  /// Every setting that is set, with its value as it may be shown, and its source.
  public package(set) var origins: [SettingOrigin]
  /// The position of the YAML file, if it is named but empty.
  package var emptyFile: DocumentPlace?
  /// The stamps of the files read while loading, by path. A file that changes causes a reload.
  public package(set) var files: [String: FileStamp]
}

extension Configuration {
  /// Whether any rule queries a remote policy.
  public var asksRemotePolicies: Bool { policy.asksRemotes }
}

/// The purpose of a configuration: it decides the required settings and the secrets to open.
public enum ConfigurationPurpose: String, Sendable, CaseIterable {
  /// Running the server.
  case serve
  /// Running the server against the emulator.
  case sandbox
  /// Validating what `serve` would run with. `callgate doctor` and `callgate talkdesk` use it too.
  case check
  /// Fetching a token from Talkdesk, to print it.
  case token
  /// Deciding requests without a server, to explain or test rules.
  case explain
  /// Bringing the store up to date, or verifying an audit log.
  case migrate

  /// Whether the credentials of Talkdesk and of chat desks are opened. Talkdesk's is then required, unless
  /// all apps of a server have chat desks.
  public var needsCredential: Bool {
    switch self {
    case .serve, .check, .token: true
    case .sandbox, .explain, .migrate: false
    }
  }

  /// Whether the configuration must allow at least one caller.
  public var needsCaller: Bool {
    switch self {
    case .serve, .check: true
    case .sandbox, .token, .explain, .migrate: false
    }
  }

  /// Whether the store key is opened.
  var opensStoreKey: Bool {
    switch self {
    case .serve, .sandbox, .check, .migrate: true
    case .token, .explain: false
    }
  }

  /// Whether the secrets and keys of callers, operators, listeners, push providers, attestation and call
  /// outcomes are opened.
  var opensListenerSecrets: Bool {
    switch self {
    case .serve, .sandbox, .check: true
    case .token, .explain, .migrate: false
    }
  }
}

/// A setting that is set, with its value and source.
public struct SettingOrigin: Sendable, Hashable {
  /// The setting's name: its YAML path, or its variable if the file has no such key.
  public let name: String
  /// The value as it may be shown, such as `<redacted>`.
  public let value: String
  /// The position of the value.
  public let place: DocumentPlace
  /// The position of the file's value, if another source overrides it.
  public var overridden: DocumentPlace?
}
