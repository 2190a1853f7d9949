// The emulated Talkdesk, Sendbird and Google services: routes each request to the service for its path.

public import HTTP
public import HTTPServer
public import JOSE
import JSON
import Pages
public import Platform
import Synchronization

/// An emulated Talkdesk with one account: Talkdesk ID's token endpoint, the Callback API and the other
/// services that a gateway uses. Checks requests as strictly as anything known about the real ones, and
/// misbehaves on request.
///
/// | path | service |
/// |---|---|
/// | `POST /oauth/token` | Talkdesk ID: an access token for a client assertion or a client secret |
/// | `POST /webhooks/triggers/{name}`, `DELETE /webhooks/triggers/{name}/{id}` | registers and deletes triggers |
/// | `GET /live-queries`, `POST /live-subscriptions`, `GET /live-subscriptions/{id}/stream` | the Live API |
/// | `POST /data/reports/calls/jobs`, `GET …/jobs/{id}`, `GET …/files/{id}` | the calls report |
/// | `GET /identity/phonevalidations/{number}` | phone validation |
/// | `GET /do-not-call-lists`, `POST /do-not-call-lists/{id}/entries/queries` | do-not-call lists |
/// | `GET /oauth/certs` | the key that signs tokens, as a JWK set |
/// | `POST /calls/callback` | the Callback API |
/// | `POST /fcm/token` | Google's token endpoint |
/// | `POST /v1/projects/{project}/messages:send` | Firebase Cloud Messaging: push notifications |
/// | `GET /appcheck/v1/jwks`, `GET /fpnv/v1beta/jwks` | the keys of App Check and of number proofs |
/// | `POST /_sandbox/attest`, `POST /_sandbox/number-proof` | makes what an app's phone would send |
/// | `POST /v1beta/projects/{project}:verifyAppCheckToken` | Firebase App Check: consumes a token |
/// | `POST /v1/{package}:decodeIntegrityToken` | Play Integrity: the verdict in a phone's token |
/// | `GET /app-attest/root.pem` | the root certificate that vouches for phones |
/// | `POST /_sandbox/hook` | a receiver of webhooks |
/// | `/_sandbox/faults` | the faults to simulate |
/// | `/_sandbox/exchanges`, `/_sandbox/callbacks`, `/_sandbox/notices` | the requests received |
/// | `/_sandbox/sessions`, `/_sandbox/tickets` | the requests and tickets that Sendbird received |
/// | `/_sandbox/clock`, `/_sandbox/keys` | the clock and the client's accepted keys |
/// | `/_sandbox/outcome`, `/_sandbox/jwt` | reports a call's outcome; makes a user's JWT |
/// | `/_sandbox/token`, `/_sandbox/pauses`, `/_sandbox/operator` | the gateway's tokens, pauses and admin token |
/// | `/_sandbox/installations/approve` | approves an installation of the gateway |
/// | `/_sandbox/agents`, `/_sandbox/reports` | the number of available agents, and the form of reports |
/// | `/v3/users`, `/v3/users/{user_id}`, `POST /v3/users/{user_id}/token` | Sendbird: users and session tokens |
/// | `/platform/v1/customers`, `/platform/v1/tickets` | Sendbird Desk: customers and tickets |
/// | `POST /v3/group_channels/{channel_url}/messages` | Sendbird: messages about a ticket |
/// | `GET /` | a demo client, useful with a gateway on the same port |
public final class Emulator: RequestHandler {
  private let tokens: TokenService
  private let callbacks: CallbackService
  private let notices: NoticeService
  private let live: LiveService
  private let reports: ReportService
  private let triggers: TriggerService
  private let screening: ScreeningService
  private let post: Post?
  private let attesters: Attesters
  private let certificates: [UInt8]
  /// The clock for assertions, tokens and the `Date` field.
  public let clock: SandboxClock
  private let state: Mutex<EmulatorState>

  /// Sends JSON to a URL and ignores the response.
  public typealias Post = @Sendable (_ url: String, _ content: [UInt8]) async -> Void

  /// Makes an emulator with a new signing key.
  ///
  /// - Parameters:
  ///   - configuration: The account and its client.
  ///   - time: The clock for assertions, tokens and delays.
  ///   - post: Sends the messages of registered triggers. Nil if the emulator shares its port with a gateway,
  ///     which sends events itself.
  /// - Throws: `KeyError` if OpenSSL cannot make a key.
  public init(
    _ configuration: EmulatorConfiguration, time: any TimeSource, post: Post? = nil
  ) throws(KeyError) {
    let issuer = try EmulatedTokenIssuer()
    attesters = try Attesters()
    certificates = issuer.certificates
    tokens = TokenService(configuration, issuer: issuer)
    callbacks = CallbackService(
      endpoint: CallbackEndpoint(issuer: issuer, phoneNumbers: configuration.phoneNumbers),
      facts: configuration.facts)
    notices = NoticeService(issuer: issuer)
    live = LiveService(issuer: issuer)
    reports = ReportService(issuer: issuer)
    triggers = TriggerService(issuer: issuer)
    screening = ScreeningService(issuer: issuer)
    self.post = post
    clock = SandboxClock(time)
    state = Mutex(EmulatorState(keyIDs: configuration.keys.map(\.keyID)))
  }

  /// Sets the emulator's base URL: `http://127.0.0.1:PORT`, without a slash at the end. The token URL, which
  /// assertions must name as their audience, is derived from it. Before this call, the token endpoint and the
  /// Callback API return 503.
  public func bind(to baseURL: String) {
    state.withLock { $0.baseURL = baseURL }
  }

  /// Makes a service account for push notifications, and returns the settings with which a gateway sends them
  /// to this emulator. Call `bind` first.
  public func openProviders() -> NoticeProviders {
    guard let baseURL = state.withLock({ $0.baseURL }) else { preconditionFailure("the emulator is bound") }
    let account = FCMAccount()
    state.withLock { $0.serviceAccount = account }
    return NoticeProviders(account, hookSecret: notices.hookSecret, at: baseURL)
  }

  /// The root certificate that vouches for the emulator's phones.
  public var rootOfPhones: X509Certificate { attesters.phones.root }

  /// The last requests that the emulator received.
  var journal: Journal { state.withLock { $0.journal } }

  public func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    let path = request.string(request.path)
    switch path {
    case TokenService.path, CallbackService.path:
      talkdesk(Call(request), path: path, &exchange)
    case "/oauth/certs", "/oauth/2023-10/certs":
      exchange.respond(
        certificatesReply(request.method).response)
    case PhoneMaker.rootPath:
      exchange.respond(
        Reply(.ok, contentType: "application/x-pem-file", content: attesters.phones.root.pem).response)
    case AppCheckIssuer.keysPath:
      exchange.respond(keysReply(request.method, attesters.appCheck.keys).response)
    case NumberProofIssuer.keysPath:
      exchange.respond(keysReply(request.method, attesters.numbers.keys).response)
    case NoticeService.tokenPath, NoticeService.hookPath:
      answer(Call(request), path: path, &exchange)
    default:
      if let package = PlayIntegrityIssuer.package(in: path) {
        let call = Call(request)
        exchange.respond(attesters.play.decode(call, package: package, scopes: scopes(of: call)).response)
      } else if AppCheckIssuer.consumes(path) {
        let call = Call(request)
        exchange.respond(attesters.appCheck.consume(call, scopes: scopes(of: call)).response)
      } else if LiveService.owns(path) {
        if let reply = live.act(Call(request), path: path, now: clock.unixTime, state: state) {
          exchange.respond(reply.response)
        } else {
          let responder = exchange.deferred()
          let stream = Task { [self] in await LiveService.follow(responder, clock, state) }
          responder.whenClientFinishes { stream.cancel() }
        }
      } else if TriggerService.owns(path) {
        end(&exchange, Ending(triggers.act(Call(request), path: path, now: clock.unixTime, state: state)))
      } else if ScreeningService.owns(path) {
        end(&exchange, screening.act(Call(request), path: path, now: clock.unixTime, state: state))
      } else if ReportService.owns(path) {
        end(&exchange, Ending(reports.act(Call(request), path: path, now: clock.unixTime, state: state)))
      } else if NoticeService.project(in: path) != nil {
        answer(Call(request), path: path, &exchange)
      } else if ownsPath(of: request) {
        handleOwnPath(request, &exchange)
      } else if let target = SendbirdTarget(request), target.takes(request.method) {
        end(&exchange, SendbirdService.act(Call(request), target, now: clock.unixTime, state: state))
      } else if let target = DeskTarget(request) {
        end(&exchange, DeskService.act(Call(request), target, now: clock.unixTime, state: state))
      } else {
        let error = TalkdeskError(
          status: .notFound, code: "not_found", message: "There is no endpoint at this path")
        exchange.respond(Reply.json(.notFound, error.content).response)
      }
    }
  }

  public func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    let status: Status =
      switch failure {
      case .malformed, .unfiltered: .badRequest
      case .timedOut: .requestTimeout
      case .contentTooLarge: .contentTooLarge
      case .targetTooLong: .uriTooLong
      case .fieldsTooLarge: .requestHeaderFieldsTooLarge
      case .overloaded: .serviceUnavailable
      case .unanswered: .internalServerError
      }
    let error = TalkdeskError(status: status, code: "refused", message: status.reason)
    return Reply.json(status, error.content).response
  }

  /// Whether a request is for the emulator itself and not for an emulated service: `/` and everything under
  /// `/_sandbox/`. `SandboxFront` passes such requests on to the emulator.
  public func ownsPath(of request: borrowing Request) -> Bool {
    if request.equals(request.path, "/") { return true }
    return request.pathStarts(with: ControlEndpoint.prefix)
  }

  /// Responds to a request for which `ownsPath` is true.
  ///
  /// - Parameters:
  ///   - address: The address on which the server listens, to recognize a `Host` that means this machine; nil
  ///     for loopback.
  ///   - gateway: The gateway on the same port; nil if the emulator runs alone.
  public func handleOwnPath(
    _ request: borrowing Request, listeningOn address: IPAddress? = nil, gateway: GatewayLink? = nil,
    _ exchange: inout Exchange
  ) {
    let path = request.string(request.path)
    var call = Call(request)
    call.meansThisMachine = call.host.map { LocalName.isUnclaimable($0, listeningOn: address) } ?? true
    let reply: Reply
    do throws(ControlRefusal) {
      if let document = try DemoClient.document(at: path, for: call) {
        return exchange.respond(document.answer(to: request))
      } else if path == CallToDial.path {
        return dial(try ControlEndpoint.admitOutcome(call), gateway, call.host, &exchange)
      } else if path == ControlEndpoint.approvalPath {
        return try ControlEndpoint.admitApproval(call, at: gateway).approve(request, &exchange)
      } else {
        reply = try state.withLock { (state) throws(ControlRefusal) in
          try ControlEndpoint.answer(
            call, path: path, state: &state, clock: clock, gateway: gateway, attesters: attesters)
        }
      }
    } catch {
      reply = error.reply(instance: exchange.requestID.description)
    }
    exchange.respond(reply.response)
  }

  /// Responds, then sends the call's events: to the linked webhook of the gateway on the same port or,
  /// without one, to the registered triggers.
  private func dial(
    _ call: CallToDial, _ gateway: GatewayLink?, _ host: String?, _ exchange: inout Exchange
  ) {
    let (responder, id) = (exchange.deferred(), exchange.requestID.description)
    Task { [self] in
      var record: CallbackRecord?
      if let dialing = gateway?.dialing {
        let found = await dialing.find(call.id)
        record = found.flatMap { found in state.withLock { $0.journal.callback(of: found) } }
      } else {
        record = state.withLock { $0.journal.callback(traceID: call.id) }
      }
      guard let host, let record
      else { return responder.respond(ControlEndpoint.noCallback.reply(instance: id).response) }
      responder.respond(Reply(.noContent, fields: ["Cache-Control": "no-store"]).response)
      // This task is never canceled. If the clock stops waiting early, only the delay is shorter.
      try? await clock.sleep(until: clock.now + call.delay)
      let event = call.event(of: record, shift: gateway.map { $0.clock.offset - clock.offset } ?? 0)
      // The calls report contains the call even if its events are lost.
      state.withLock { $0.reports.add(event) }
      for _ in 0..<call.count { await tell(event, of: call, gateway?.dialing, host) }
    }
  }

  private func tell(_ event: JSONObject, of call: CallToDial, _ dialing: Dialing?, _ host: String) async {
    guard let dialing else {
      for message in state.withLock({ $0.triggers.messages(of: call.trigger, with: event) }) {
        await post?(message.url, message.content)
      }
      return
    }
    var content = event
    content["token"] = .string(dialing.token.exposedString())
    await dialing.post("\(dialing.scheme)://\(host)\(dialing.path.exposedString())", content.serialized())
  }

  private func talkdesk(_ call: Call, path: String, _ exchange: inout Exchange) {
    let isTokens = path == TokenService.path
    guard call.method == .post else {
      let content =
        isTokens
        ? TokenRefusal.content(error: "invalid_request", explanation: "the method is not POST")
        : TalkdeskError(
          status: .methodNotAllowed, code: "method_not_allowed", message: "The method is not POST"
        )
        .content
      return exchange.respond(Reply.json(.methodNotAllowed, content, fields: ["Allow": "POST"]).response)
    }
    guard let baseURL = state.withLock({ $0.baseURL }) else {
      let error = TalkdeskError(status: .serviceUnavailable, code: "starting", message: "Not bound yet")
      return exchange.respond(Reply.json(.serviceUnavailable, error.content).response)
    }
    let now = clock.unixTime
    let ending =
      isTokens
      ? tokens.act(call, baseURL: baseURL, now: now, state: state)
      : callbacks.act(call, baseURL: baseURL, now: now, state: state)
    end(&exchange, ending)
  }

  /// Responds to a request to a push provider.
  private func answer(_ call: Call, path: String, _ exchange: inout Exchange) {
    let baseURL = state.withLock { $0.baseURL } ?? ""
    end(&exchange, notices.act(call, path: path, baseURL: baseURL, now: clock.unixTime, state: state))
  }

  /// The scopes of a request's Google access token; nil if the token is missing or invalid.
  private func scopes(of call: Call) -> [String]? {
    notices.scopes(of: call, baseURL: state.withLock { $0.baseURL } ?? "", now: clock.unixTime)
  }

  private func keysReply(_ method: Method, _ make: () throws(KeyError) -> [UInt8]) -> Reply {
    do throws(KeyError) {
      return keysReply(method, try make())
    } catch {
      let error = TalkdeskError(
        status: .internalServerError, code: "internal", message: "OpenSSL could not make a key")
      return .json(.internalServerError, error.content)
    }
  }

  private func certificatesReply(_ method: Method) -> Reply { keysReply(method, certificates) }

  private func keysReply(_ method: Method, _ keys: [UInt8]) -> Reply {
    guard method == .get || method == .head else {
      let error = TalkdeskError(
        status: .methodNotAllowed, code: "method_not_allowed", message: "The method is not GET")
      return .json(.methodNotAllowed, error.content, fields: ["Allow": "GET, HEAD"])
    }
    return .json(.ok, keys, fields: ["Cache-Control": "public, max-age=60"])
  }

  /// Ends an exchange now, or after the delay without blocking the event loop.
  private func end(_ exchange: inout Exchange, _ ending: Ending) {
    guard ending.delay > 0 else {
      guard let reply = ending.reply else { return exchange.closeUnanswered() }
      return ending.isCutOff
        ? exchange.respondCutOff(reply.response) : exchange.respond(reply.response)
    }
    let responder = exchange.deferred()
    let clock = clock
    let deadline = clock.now + .milliseconds(ending.delay)
    Task {
      // This task is never canceled. If the clock stops waiting early, the response is only sent earlier.
      try? await clock.sleep(until: deadline)
      guard let reply = ending.reply else { return responder.closeUnanswered() }
      if ending.isCutOff {
        responder.respondCutOff(reply.response)
      } else {
        responder.respond(reply.response)
      }
    }
  }
}
