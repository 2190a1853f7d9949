// One configuration, ready to serve requests. A reload replaces it as a whole.

package import API
package import AskingGoogle
package import Callbacks
package import Callers
package import Configuration
package import Deciding
package import Delivery
package import Gate
package import HTTP
package import HTTPServer
package import Installations
import JOSE
package import PushDelivery
package import Records
package import Store
import Synchronization
package import Talkdesk
package import Tokens
package import Trust

/// One loaded version of the configuration, with the objects that serve requests under it. A request uses the
/// same generation from beginning to end.
package final class Generation: Sendable {
  /// A header field that rules read, by the name they use.
  package struct RuleField: Sendable {
    /// The name that rules use.
    package let name: String
    package let field: FieldName
  }

  /// The number of the generation, counted from 1.
  package let number: Int
  /// The configuration that this generation was made from.
  package let configuration: Configuration
  /// Identifies the caller of a request.
  package let authenticator: Authenticator
  /// Verifies App Check tokens; nil if no app uses them.
  package let appCheck: AppCheckVerifier?
  /// Verifies proofs of numbers. Nil if requests cannot contain them.
  package let numberProofs: NumberProofVerifier?
  /// How App Attest attestations are verified; nil if no app accepts them.
  package let appAttest: AppAttestPolicy?
  /// Asks Google to consume the App Check tokens of phones that enroll; nil if they are not consumed.
  package let consumer: AppCheckConsumer?
  /// How Play Integrity tokens are decoded; nil if no app accepts them.
  package let play: (decoder: PlayIntegrityDecoder, maximumAge: Int64)?
  package let metrics: ServiceMetrics
  /// Finds the address of the client that sent a request.
  package let clientAddress: ClientAddress
  /// Makes the decisions of this generation.
  package let decider: Decider
  /// The scopes of Talkdesk tokens: those that the server vends, and the one for callbacks.
  package let scopes: TokenScopes
  /// The chat desks by name.
  package let desks: [String: ServedDesk]
  /// The rules for pages of other origins.
  package let crossOrigin: CrossOrigin
  /// The rules for pages that use `/mcp`, the server's own pages included.
  package let agentOrigins: CrossOrigin
  /// The limits on appointments; nil if the server does not accept any.
  package let appointments: Configuration.Appointments?
  /// The terms of each app's callbacks.
  package let callbackTerms: CallbackTermsTable
  let courier: TalkdeskCourier
  private let liveAgents: LiveAgents
  /// The lookup of phone numbers.
  let screening: NumberScreening
  /// The Talkdesk account that `courier` and its tokens belong to.
  let upstream: TokenSource.Upstream
  /// The header fields that rules read.
  package let ruleFields: [RuleField]
  /// The callers that are installations; nil if no app has any, or without a store key.
  package let installations: InstallationCallers?
  /// Enrolls, finds and revokes installations; nil in the same cases as `installations`.
  package let installationService: InstallationService?
  /// Sends push notifications: tokens, dialogs, and changes of callbacks. Nil if no app has installations and
  /// GMS is not configured, or without a store key.
  package let push: TokenPush?
  /// The operators, and the authentication of their requests.
  package let operators: OperatorRegistry
  /// The issuers of callers and operators that publish their keys, by the caller's id or `admin.jwt`.
  var issuers: [(name: String, keys: KeySource)] { authenticator.jwt.sources + operators.jwt.sources }
  /// The key of all hashes of phone numbers in the store.
  package let numberKey: NumberKey
  /// The delivery of callbacks, made when first needed.
  let delivery = Mutex<CallbackDelivery?>(nil)

  /// Makes a configuration ready to serve.
  /// - Parameter runtime: The parts that outlive a configuration.
  package init(_ configuration: Configuration, number: Int, _ runtime: Runtime) {
    let upstream = configuration.talkdesk.upstream
    let apps = configuration.servedApps
    runtime.metrics.register(rules: configuration.policy.rules.lazy.map(\.name))
    if configuration.purpose == .sandbox { runtime.metrics.register(rules: TestNumbers.rules.sorted()) }
    self.number = number
    self.configuration = configuration
    desks = runtime.desks.use(configuration)
    let terms = configuration.apps.compactMap { app in app.installations.map { (app.id, $0) } }
    installationService = terms.isEmpty ? nil : runtime.installations
    installations = installationService.map {
      InstallationCallers(directory: $0.directory, terms: Dictionary(uniqueKeysWithValues: terms))
    }
    push =
      installationService == nil && configuration.gms == nil
      ? nil : runtime.push?.tokenPush(configuration.notices)
    clientAddress = ClientAddress(
      trusted: configuration.listen.trustedProxies, hops: configuration.listen.forwardedHops)
    authenticator = Authenticator(
      configuration, throttle: runtime.throttle, keys: runtime.keys, installations: installations,
      proofs: ProofVerifier(
        nonces: runtime.nonces, externalURLs: configuration.externalURLs,
        isTLS: configuration.listen.tls != nil, proxies: clientAddress, throttle: runtime.throttle))
    let takesAppCheck = configuration.apps.contains(where: \.takesAppCheck)
    precondition(
      !takesAppCheck || configuration.appCheck != nil, "attested apps without a project would be open")
    let takesAppAttest = configuration.apps.contains { $0.attested?.appAttest != nil }
    precondition(
      !takesAppAttest || configuration.appAttest != nil, "attested apps without a root would be open")
    appAttest = takesAppAttest ? configuration.appAttest?.policy : nil
    let decoder = runtime.google.decoder(
      configuration.takesPlayIntegrity ? configuration.play?.settings : nil)
    play = decoder.map { ($0, configuration.play?.maximumAge ?? 0) }
    precondition(
      !configuration.takesPlayIntegrity || play != nil, "attested apps without an account would be open")
    consumer = runtime.google.consumer(takesAppCheck ? configuration.appCheck?.consumption : nil)
    appCheck = configuration.appCheck.flatMap { setting in
      guard takesAppCheck else { return nil }
      return AppCheckVerifier(
        setting.project, keys: runtime.keys.source(setting.keysURL, terms: .appCheck))
    }
    numberProofs = configuration.numbers?.firebase.map { setting in
      NumberProofVerifier(setting.project, keys: runtime.keys.source(setting.keysURL, terms: .appCheck))
    }
    metrics = runtime.metrics
    numberKey = runtime.numberKey
    decider = Decider(
      apps: AppRegistry(apps), policy: configuration.policy, stops: runtime.stops,
      blocked: runtime.blocked, ledger: runtime.ledger,
      remotes: runtime.remotes, hasTalkdesk: upstream != nil,
      screener: runtime.screening.screener(configuration),
      liveAgents: { [live = configuration.live, agents = runtime.liveAgents] in
        live.flatMap { agents.current($0)?.available }
      })
    liveAgents = runtime.liveAgents
    screening = runtime.screening
    scopes = TokenScopes(account: configuration.talkdesk.scope, apps: apps, tokens: runtime.tokens)
    // A store key that was added since the start takes effect after a restart.
    appointments = runtime.appointments.keys == nil ? nil : configuration.appointments
    callbackTerms = CallbackTermsTable(configuration)
    courier = TalkdeskCourier(
      api: CallbackAPI(
        baseURL: upstream?.apiURL ?? "", transport: runtime.callbackTransport, time: runtime.callbacks.clock),
      log: runtime.callbacks.log.log, metrics: runtime.metrics, clock: runtime.callbacks.clock)
    self.upstream = runtime.tokens.upstream
    let admin = configuration.admin
    operators = OperatorRegistry(
      admin.operators, adminToken: admin.token.map { SHA256Digest(of: $0.exposedBytes()) }, issuer: admin.jwt
    ) { runtime.keys.source($0) }
    crossOrigin = CrossOrigin(
      origins: configuration.allowedOrigins, ruleFields: configuration.policy.fieldNames)
    agentOrigins = CrossOrigin(
      origins: (configuration.mcp?.origins ?? []) + configuration.ownOrigins,
      ruleFields: configuration.policy.fieldNames + CrossOrigin.agentFields)
    ruleFields = configuration.policy.fieldNames.map { RuleField(name: $0, field: FieldName($0)) }
  }
}

extension Generation {
  /// How many agents are available; nil if this is unknown or not configured.
  package var availableAgents: LiveAgents.Figure? { configuration.live.flatMap { liveAgents.current($0) } }

  /// How many agents are available, for the facts of a request; nil also if no rule needs the number.
  package var agentsForRules: Int64? { decider.agents() }

  /// Whether at least as many agents are known to be available as `LiveSettings.atLeast` requires.
  package var hasAgent: Bool {
    guard let figure = availableAgents, let live = configuration.live else { return false }
    return figure.available >= live.atLeast
  }

  /// The App Check terms for an authenticated request, with its app; nil if none apply.
  package func appCheckTerms(named name: Request.QueryItem, by caller: Caller) -> (App?, AppCheckTerms)? {
    decider.apps.appCheck(named: name, by: caller)
  }

  /// Records that the app learns the end of a callback from this response. Records nothing if the client may
  /// have left: one push notification too many is better than none.
  package func told(_ record: StoredCallback, by responder: Responder) {
    if !responder.mayClientHaveLeft { push?.notices.told(record) }
  }
  /// Records that the app learns the end of a callback from a response.
  package func told(_ id: CallbackID) { push?.notices.told(id) }

  /// The installation that gets push notifications about its callback; nil for other callers, and without a
  /// configured provider.
  package func notified(_ caller: Caller) -> InstallationIdentity? {
    guard let push, !push.senders.platforms.isEmpty else { return nil }
    return caller.installation?.installation.identity
  }

  /// The deletion limit of each app: installations that were last used up to this time are deleted. The limit
  /// is the idle time plus thirty days before `now`. The thirty days protect phones that are in use, even if
  /// a configuration sets the idle time too short. Installations of an app without `installations` are not
  /// deleted.
  package func unused(at now: Instant) -> [String: Instant] {
    installations?.terms.mapValues { now.advanced(by: .zero - $0.idle - .seconds(30 * 86_400)) } ?? [:]
  }
}

extension Generation {
  /// The id of the saved verdict on a number. Nil if no rule needs a verdict, or if lookups are not
  /// configured.
  package func screeningID(of phone: E164) -> StoreID? {
    decider.policy.asksScreening && configuration.numbers?.screening != nil ? numberKey.id(of: phone) : nil
  }

  /// The finding of a saved verdict, for the rules. Nil if there is no valid verdict, or if lookups are not
  /// configured.
  package func screening(_ verdict: ScreeningVerdict?) -> ScreeningFinding? {
    configuration.numbers?.screening.flatMap { screening.finding(verdict, $0) }
  }
}

/// The state that outlives a configuration. For example, used allowances and stops survive a reload.
package struct Runtime: Sendable {
  /// The source of Talkdesk tokens.
  package let tokens: TokenSource
  /// The chat desks, with the session tokens of their users.
  package let desks: ChatDesks
  /// The kind of store, without a path or password.
  package let storeKind: String
  /// The health of the store.
  package let storeHealth: StoreHealth
  /// Used allowances.
  package let ledger: AllowanceLedger
  /// The service for installations; nil without a store key.
  package let installations: InstallationService?
  /// The stops by operators.
  package let stops: StopBoard
  /// The numbers that are never called.
  package let blocked: BlockedNumbers
  /// Connections to remote policies.
  package let remotes: RemotePolicies
  /// Failed logins of callers.
  package let throttle: LoginThrottle
  /// The published keys that verify tokens: those of issuers, of App Check, and for proofs of numbers.
  package let keys: KeySources
  /// The nonces of proofs.
  package let nonces: ProofNonces
  package let metrics: ServiceMetrics
  /// The queue of callbacks and what belongs to it.
  package let callbacks: CallbackParts
  /// The source of the number of available agents.
  package let liveAgents: LiveAgents
  /// The lookup of phone numbers.
  package let screening: NumberScreening
  package let appointments: AppointmentParts
  /// The objects for push notifications; nil without a store key.
  package var push: PushParts?
  /// The clients of Google's attestation services.
  package let google: KeptGoogle
  /// The transport for the Callback API, separate so that many callbacks do not slow down token exchanges.
  package let callbackTransport: any HTTPTransport

  package init(
    tokens: TokenSource, desks: ChatDesks, storeKind: String, storeHealth: StoreHealth,
    ledger: AllowanceLedger, installations: InstallationService?, stops: StopBoard,
    blocked: BlockedNumbers, remotes: RemotePolicies,
    throttle: LoginThrottle, keys: KeySources, nonces: ProofNonces, metrics: ServiceMetrics,
    callbacks: CallbackParts, liveAgents: LiveAgents, screening: NumberScreening,
    appointments: AppointmentParts, push: PushParts? = nil,
    google: KeptGoogle,
    callbackTransport: any HTTPTransport
  ) {
    self.tokens = tokens
    self.desks = desks
    self.storeKind = storeKind
    self.storeHealth = storeHealth
    self.ledger = ledger
    self.installations = installations
    self.stops = stops
    self.blocked = blocked
    self.remotes = remotes
    self.throttle = throttle
    self.keys = keys
    self.nonces = nonces
    self.metrics = metrics
    self.callbacks = callbacks
    self.liveAgents = liveAgents
    self.screening = screening
    self.appointments = appointments
    self.push = push
    self.google = google
    self.callbackTransport = callbackTransport
  }
}

extension Runtime {
  /// The key of all hashes of phone numbers in the store.
  package var numberKey: NumberKey { blocked.key }

  /// Counts and logs records that became `unknown` because their process ended or could not write their
  /// outcome.
  package func recovered(_ records: RecoveredRecords) {
    callbacks.recovered(records.callbacks)
    desks.recovered(records.tickets)
  }
}

/// The current generation, which all requests share and a reload replaces.
package final class Generations: Sendable {
  private let generation: Mutex<Generation>

  package init(_ first: Generation) { generation = Mutex(first) }

  /// The generation that serves new requests.
  package var current: Generation { generation.withLock { $0 } }

  func replace(with next: Generation) { generation.withLock { $0 = next } }
}
