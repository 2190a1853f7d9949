// The complete, validated configuration that the rest of the server reads.

public import Callers
public import Documents
public import Gate
package import Outcomes
public import Records
public import Sealing
package import Talkdesk
public import Upstream

/// Everything an operator decides, read and proved valid: no field of a `Configuration` needs checking again.
///
/// Only ``ConfigurationLoader`` makes one, from defaults, the YAML file, the environment and flags, in that order.
public struct Configuration: Sendable {
  /// The purpose, which decides the required settings.
  public let purpose: ConfigurationPurpose
  /// The public listener and its trusted proxies.
  public package(set) var listen: Listen
  /// How clients reach this server, without a slash at the end; empty where the configuration does not say.
  public package(set) var externalURLs: [String]
  /// The listener of operators, and the token that opens `/metrics` and `/admin` on the public port.
  public package(set) var admin: Admin
  /// The level and format of the log.
  public package(set) var log: LogSettings
  /// Where audit lines go, and how changes of them show.
  public package(set) var audit: Audit
  /// The Talkdesk account.
  public var talkdesk: TalkdeskAccount
  /// The authorities to trust when asking others; nil for the system's. They were readable and are certificates.
  public package(set) var authorities: Authorities?
  /// How Talkdesk's tokens are kept and vended.
  public package(set) var tokens: Tokens
  /// Who may ask, in the order written; ids are unique.
  public package(set) var callers: [ConfiguredCaller]
  /// Whether a request without credentials is served, as the caller `anonymous`.
  public package(set) var allowAnonymous: Bool
  /// The apps, in the order written. Without an `apps` section: the one app of Talkdesk's own samples, and in the sandbox another
  /// whose tokens come by push.
  public package(set) var apps: [App]
  /// The app of requests for installations that name none, where several apps have installations.
  public package(set) var enrolmentApp: String?
  /// The business rules.
  public package(set) var policy: Policy
  /// How callbacks are made.
  public package(set) var callbacks: Callbacks
  /// Which times may be booked for callbacks; nil: none.
  public package(set) var appointments: Appointments?
  /// The Firebase project whose tokens of App Check are accepted; nil: none.
  public package(set) var appCheck: AppCheck?
  /// How attestations of App Attest are verified; nil where no app takes any.
  package var appAttest: AppAttest?
  /// How tokens of Play Integrity are decoded; nil where no app takes any.
  package var play: PlayIntegrity?
  /// The section `numbers`. Nil if it is not configured.
  package var numbers: Numbers?
  /// What GMS clients may ask for; nil: nothing.
  public package(set) var gms: GMS?
  /// Who may use the door for AI agents; nil: nobody.
  package var mcp: MCP?
  /// How devices get notices; nil: they get none.
  public package(set) var notices: Notices?
  /// How outcomes of calls are learnt; nil: they are not.
  package var outcomes: OutcomeSettings?
  /// How the number of available agents is learnt; nil: it is not.
  package var live: LiveSettings?
  /// The chat desks, in the order written.
  public var desks: [Desk]
  /// The origins whose pages may call from a browser, in the very form of the `Origin` field.
  public package(set) var allowedOrigins: [String]
  /// Where state is kept.
  public package(set) var store: Store
  /// What the store's sealed values depend on; nil without a store key, and where the purpose needs none.
  public package(set) var storeKeys: StoreKeys?
  /// The limits of one client, and of all together.
  public package(set) var limits: Limits
  /// Every setting that holds something, with its value as it may be shown and where it came from.
  public package(set) var origins: [SettingOrigin]
  /// The YAML file, if one is named and it is empty.
  package var emptyFile: DocumentPlace?
  /// The files read while loading, as they were: what to watch for a reload.
  public package(set) var files: [String: FileStamp]
}

extension Configuration {
  /// Whether any rule asks a remote policy.
  public var asksRemotePolicies: Bool { policy.asksRemotes }
}

/// The purpose of a configuration: it decides the required settings and the secrets to open.
public enum ConfigurationPurpose: String, Sendable, CaseIterable {
  /// Running the server.
  case serve
  /// Running the server against the emulator.
  case sandbox
  /// Validating what `serve` would run with.
  case check
  /// Fetching a token from Talkdesk, to print or to diagnose.
  case token
  /// Deciding requests without a server.
  case explain
  /// Bringing the store up to date.
  case migrate

  /// Whether Talkdesk's credential must be there. Where not, its files are not opened either.
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

  /// Whether the files by which callers and listeners prove themselves are opened.
  var opensListenerSecrets: Bool {
    switch self {
    case .serve, .sandbox, .check: true
    case .token, .explain, .migrate: false
    }
  }
}

/// One setting that holds something.
public struct SettingOrigin: Sendable, Hashable {
  /// The setting's name: its YAML path, or its variable if the file has no such key.
  public let name: String
  /// Its value, or `<redacted>`.
  public let value: String
  /// The position of the value.
  public let place: DocumentPlace
  /// Where the file says something else, which is not used.
  public var overridden: DocumentPlace?
}
