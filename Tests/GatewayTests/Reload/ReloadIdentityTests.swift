// Tests that a reload applies a new certificate and a new upstream together or not at all.

import Appointments
import AskingGoogle
import Certificates
import Gate
import HTTP
import Platform
import Store
import Stores
import TLS
import Talkdesk
import Testing
import Tokens
import Trust

@testable import Callers
@testable import Configuration
@testable import Deciding
@testable import Delivery
@testable import Gateway
@testable import Records
@testable import RoomSupport
@testable import Serving

/// A new certificate and a new upstream are applied together, or not at all.
@Suite struct ReloadIdentityTests {
  private struct NoClient: Error {}

  private struct Nobody: HTTPTransport {
    func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
      throw TransportError(.connect, sent: false, detail: "nobody")
    }
  }

  private static func load(_ identity: TestIdentity) throws(ConfigurationErrors) -> LoadedConfiguration {
    try Fixture.load(
      "listen: { tls: { certificate_file: /tls.pem, key_file: /tls.key } }",
      files: [
        "/tls.pem": ConfigurationFiles.Content(bytes: identity.certificatePEM, mode: 0o644),
        "/tls.key": ConfigurationFiles.Content(bytes: identity.keyPEM, mode: 0o600),
      ])
  }

  @Test(arguments: [false, true])
  func `a certificate is not shown where the upstream client cannot be made`(isMade: Bool) async throws {
    let clock = SystemClock()
    let first = try Self.load(TestIdentity("DNS:api.example")).configuration
    var second = try Self.load(TestIdentity("DNS:api.example"))
    let old = try #require(first.listen.tls?.identity)
    let new = try #require(second.configuration.listen.tls?.identity)
    let upstream = try #require(first.talkdesk.upstream)
    // Only another credential needs a new client.
    second.configuration.talkdesk.upstream = Configuration.Upstream(
      tokenURL: upstream.tokenURL, apiURL: upstream.apiURL, clientID: "another",
      authentication: upstream.authentication)
    let sink = LogSink(lanes: 2) { _ in true }
    let log = Log(sink: sink, lane: 1, level: first.log.level, format: first.log.format, clock: clock)
    let metrics = ServiceMetrics(loops: 1)
    let store = first.store.open()
    let inHand = CallbacksInHand(time: clock)
    let callbackLog = CallbackLog(log: log)
    let tokens = TokenSource(
      issuer: try TalkdeskID(upstream, transport: Nobody(), clock: clock),
      policy: TokenPolicy(first.tokens), time: clock)
    let brakes = BrakeWatch(log: log, clock: clock)
    let blocked = BlockedNumbers(
      store: store, key: NumberKey(store: store, keys: nil), clock: StoreClock(clock, store.health))
    let runtime = Runtime(
      tokens: tokens,
      desks: ChatDesks(transport: Nobody(), metrics: metrics, log: log, clock: clock, loops: 1),
      storeKind: first.store.kind, storeHealth: store.health, ledger: AllowanceLedger(store: store),
      installations: nil,
      stops: StopBoard(store: store, clock: clock), blocked: blocked,
      remotes: RemotePolicies(transport: Nobody(), log: log), throttle: LoginThrottle(),
      keys: KeySources(transport: Nobody(), time: clock, log: log), nonces: try ProofNonces(),
      metrics: metrics,
      callbacks: CallbackParts(
        store: RetryingStore(
          store, inHand: inHand, clock: clock, log: callbackLog, isClockRight: { true }),
        queue: CallbackQueue(concurrency: first.callbacks.concurrency, time: clock), inHand: inHand,
        clock: clock, log: callbackLog, metrics: metrics,
        brakes: brakes),
      liveAgents: LiveAgents(transport: Nobody(), clock: clock) { _ in },
      screening: NumberScreening(
        store: store, key: blocked.key, ledger: AllowanceLedger(store: store), brakes: brakes, tokens: tokens,
        metrics: metrics, log: log, clock: clock
      ) { _ in Nobody() },
      appointments: AppointmentParts(keys: nil, watch: AppointmentWatch(store: store, time: clock)),
      google: KeptGoogle(transport: Nobody(), time: clock, log: { _ in }), callbackTransport: Nobody())
    let listener = try TLSListener(old, time: clock)
    let reloader = Reloader(
      load: { [second] () throws(ConfigurationErrors) in second },
      generations: Generations(Generation(first, number: 1, runtime)), runtime: runtime,
      upstream: { upstream throws in
        guard isMade else { throw NoClient() }
        return try TalkdeskID(upstream, transport: Nobody(), clock: clock)
      },
      listener: listener, watch: FileWatch(first.files), log: log, clock: clock)
    let outcome = await reloader.reload(because: "a test")
    #expect(outcome.isSuccess == isMade, "\(outcome.problems)")
    #expect(outcome.generation == (isMade ? 2 : 1))
    #expect(listener.identity.isSame(as: isMade ? new : old))
    #expect(!new.isSame(as: old))
  }
}
