// One configuration made ready to serve requests, which a reload replaces as a whole.

import API
import Callbacks
import Callers
import Configuration
import Deciding
import Delivery
import Gate
import HTTP
import Installations
import JOSE
import PushDelivery
import Records
import Store
import Synchronization
import Talkdesk
import Tokens

/// One configuration, ready to serve. A request keeps the one it began with.
final class Generation: Sendable {
  /// A field rules look at, by the name the rules know it by.
  struct RuleField: Sendable {
    let name: String
    let field: FieldName
  }

  /// Which one it is, counted from 1.
  let number: Int
  let configuration: Configuration
  let authenticator: Authenticator
  let clientAddress: ClientAddress
  let decider: Decider
  let scopes: TokenScopes
  /// The chat desks by their names.
  let desks: [String: ServedDesk]
  let crossOrigin: CrossOrigin
  /// The bounds of appointments; nil where none are taken.
  let appointments: Configuration.Appointments?
  /// The terms of each app's callbacks.
  let callbackTerms: CallbackTermsTable
  let courier: TalkdeskCourier
  /// Where `courier` and its tokens belong to.
  let upstream: TokenSource.Upstream
  /// The fields of a request that rules look at.
  let ruleFields: [RuleField]
  /// The desk of installations and their callers; nil if no app has any, or without a store key.
  let installations: InstallationCallers?
  let desk: InstallationDesk?
  /// Token by push; nil where no app has installations.
  let push: TokenPush?
  /// SHA-256 of the operators' token.
  let adminTokenDigest: SHA256Digest?
  /// Carries out callbacks; made for the first one.
  let delivery = Mutex<CallbackDelivery?>(nil)

  /// Makes a configuration ready.
  /// - Parameter runtime: The parts that outlive a configuration.
  init(_ configuration: Configuration, number: Int, _ runtime: Runtime) {
    guard let upstream = configuration.talkdesk.upstream else {
      preconditionFailure("a configuration for serving without an upstream")
    }
    let apps = configuration.apps.map(App.init)
    runtime.metrics.register(rules: configuration.policy.rules.lazy.map(\.name))
    self.number = number
    self.configuration = configuration
    desks = runtime.desks.use(configuration)
    let terms = configuration.apps.compactMap { app in app.installations.map { (app.id, $0) } }
    desk = terms.isEmpty ? nil : runtime.installations
    installations = desk.map {
      InstallationCallers(directory: $0.directory, terms: Dictionary(uniqueKeysWithValues: terms))
    }
    push = desk == nil ? nil : runtime.push?.tokenPush(configuration.notices)
    authenticator = Authenticator(
      configuration, throttle: runtime.throttle, keys: runtime.keys, installations: installations)
    clientAddress = ClientAddress(
      trusted: configuration.listen.trustedProxies, hops: configuration.listen.forwardedHops)
    decider = Decider(
      apps: AppRegistry(apps), policy: configuration.policy, stops: runtime.stops, ledger: runtime.ledger,
      remotes: runtime.remotes)
    scopes = TokenScopes(account: configuration.talkdesk.scope, apps: apps, tokens: runtime.tokens)
    // A key that was configured since the start is for the next one.
    appointments = runtime.appointments.keys == nil ? nil : configuration.appointments
    callbackTerms = CallbackTermsTable(configuration)
    courier = TalkdeskCourier(
      api: CallbackAPI(
        baseURL: upstream.apiURL, transport: runtime.callbackTransport, time: runtime.callbacks.clock),
      log: runtime.callbacks.log.log, metrics: runtime.metrics, clock: runtime.callbacks.clock)
    self.upstream = runtime.tokens.upstream
    adminTokenDigest = configuration.admin.token.map { SHA256Digest(of: $0.exposedBytes()) }
    crossOrigin = CrossOrigin(
      origins: configuration.allowedOrigins, ruleFields: configuration.policy.fieldNames)
    ruleFields = configuration.policy.fieldNames.map { RuleField(name: $0, field: FieldName($0)) }
  }
}

extension Generation {
  /// The last use, by app, up to which installations are deleted at a time. An installation stays for thirty days after its idle time,
  /// so that a mistake in a configuration deletes no phones. Those of an app without `installations` stay, too.
  func unused(at now: Instant) -> [String: Instant] {
    installations?.terms.mapValues { now.advanced(by: .zero - $0.idle - .seconds(30 * 86_400)) } ?? [:]
  }
}

/// The state that outlives a configuration: used allowances stay used, and stops stay.
struct Runtime: Sendable {
  let tokens: TokenSource
  let desks: ChatDesks
  /// Where state is kept, without a path or password.
  let storeKind: String
  let storeHealth: StoreHealth
  let ledger: AllowanceLedger
  /// Nil without a store key.
  let installations: InstallationDesk?
  let stops: StopBoard
  let remotes: RemotePolicies
  let throttle: LoginThrottle
  let keys: KeySources
  let metrics: ServiceMetrics
  let callbacks: CallbackParts
  let appointments: AppointmentParts
  /// Nil without a store key.
  var push: PushParts?
  /// The way to the Callback API: its own, so that a crowd of callbacks takes nothing from exchanges.
  let callbackTransport: any HTTPTransport
}

/// The current generation.
final class Generations: Sendable {
  private let generation: Mutex<Generation>

  init(_ first: Generation) { generation = Mutex(first) }

  /// The new current generation.
  var current: Generation { generation.withLock { $0 } }

  /// Replaces it by the next one.
  func replace(with next: Generation) { generation.withLock { $0 = next } }
}
