// Handles a token request to the emulator: checks it, applies a fault, issues the token and writes the
// journal.

import HTTP
import JSON
import Platform
import Synchronization

/// `POST /oauth/token` from start to end: the endpoint's checks, a waiting fault, the token and the journal.
struct TokenService: Sendable {
  /// The path of the token URL under the account's base URL.
  static let path = "/oauth/token"

  let configuration: EmulatorConfiguration
  let endpoint: TokenEndpoint
  let issuer: EmulatedTokenIssuer

  init(_ configuration: EmulatorConfiguration, issuer: EmulatedTokenIssuer) {
    self.configuration = configuration
    self.issuer = issuer
    endpoint = TokenEndpoint(configuration)
  }

  /// Handles a POST and returns how to end it.
  func act(_ call: Call, baseURL: String, now: UnixTime, state: borrowing Mutex<EmulatorState>) -> Ending {
    let (fault, retired) = state.withLock { ($0.faults.take(.token), $0.retiredKeys) }
    var record = ExchangeRecord(
      time: now, outcome: .fault, client: ClientAuthenticator.Outcome(method: .none),
      userAgent: call.userAgent, traceparent: call.traceparent)
    var ending: Ending
    if let fault, fault.preventsAction {
      record.outcome = fault.drop == .before ? .droppedBefore : .fault
      let reply = fault.refusal().map { fault.apply(to: $0, isRefusalOfTheRequest: false) }
      ending = Ending(reply, after: fault.delay, isCutOff: fault.drop == .during)
    } else {
      var endpoint = retired.isEmpty ? endpoint : endpoint.forgetting(retired)
      if fault?.hasStrictClock == true { endpoint = endpoint.withStrictClock() }
      let judgement = endpoint.judge(call, audience: baseURL + TokenService.path, now: now) { assertion in
        state.withLock {
          $0.replays.insert(assertion.jwtID, until: assertion.expirationTime, now: now.seconds)
        }
      }
      ending = answer(judgement, fault, baseURL: baseURL, now: now, &record)
    }
    ending.reply?.fields["Cache-Control"] = "no-store"
    ending.reply?.fields["platform-tid"] = Identifier.random()
    record.status = ending.reply?.status.code
    state.withLock { $0.journal.record(record) }
    return ending
  }

  private func answer(
    _ judgement: TokenEndpoint.Judgement, _ fault: Fault?, baseURL: String, now: UnixTime,
    _ record: inout ExchangeRecord
  ) -> Ending {
    record.client = judgement.client
    record.requestedScope = judgement.requestedScope
    var reply: Reply
    var isRefusal = true
    switch judgement.result {
    case .failure(let refusal):
      record.outcome = .refused
      record.error = refusal.error
      reply = .json(refusal.status, refusal.content)
      // RFC 6749 §5.2: the response to a wrong Authorization field names the scheme to use.
      if refusal.status == .unauthorized && judgement.client.method == .clientSecretBasic {
        reply.fields["WWW-Authenticate"] = "Basic realm=\"talkdesk-sandbox\""
      }
    case .success(let grant):
      record.outcome = .accepted
      record.grantedScope = grant.scopes.joined(separator: " ")
      do {
        let jwtID = Identifier.random()
        reply = .json(.ok, try success(grant, fault?.expiresIn, baseURL: baseURL, now: now, jwtID: jwtID))
        record.tokenID = jwtID
        isRefusal = false
      } catch {
        // Only OpenSSL without memory or entropy gets here.
        record.outcome = .refused
        record.error = "server_error"
        reply = .json(
          .internalServerError, TokenRefusal.content(error: "server_error", explanation: "signing failed"))
      }
    }
    guard let fault else { return Ending(reply, after: 0) }
    guard fault.drop != .after else {
      if !isRefusal { record.outcome = .droppedAfter }
      return Ending(nil, after: fault.delay)
    }
    let isCutOff = fault.drop == .during
    if isCutOff, !isRefusal { record.outcome = .droppedDuring }
    return Ending(
      fault.apply(to: reply, isRefusalOfTheRequest: isRefusal), after: fault.delay, isCutOff: isCutOff)
  }

  /// The `iss` of tokens. As in Talkdesk's tokens, it differs from the audience, which is the API, and is not
  /// the host of an account.
  static func issuer(at baseURL: String) -> String { baseURL.replacing("//127.0.0.1", with: "//localhost") }

  private func success(
    _ grant: TokenEndpoint.Grant, _ expiresIn: Fault.ExpiresIn?, baseURL: String, now: UnixTime,
    jwtID: String
  ) throws -> [UInt8] {
    var lifetime = configuration.tokenLifetime
    var shown: JSONValue? = .number(JSONNumber(max(lifetime - 1, 1)))
    if let facts = configuration.facts {
      lifetime = facts.expiresIn.map { $0 + 1 } ?? lifetime
      shown = facts.expiresIn.map { .number(JSONNumber($0)) }
    }
    switch expiresIn {
    case .seconds(let seconds):
      lifetime = seconds
      shown = .number(JSONNumber(seconds))
    case .verbatim(let value): shown = value
    case .leftOut: shown = nil
    case nil: break
    }
    let token = try issuer.issue(
      issuer: Self.issuer(at: baseURL), audience: baseURL, clientID: configuration.clientID,
      scopes: grant.scopes,
      lifetime: lifetime, now: now.seconds, jwtID: jwtID)
    var members = JSONObject()
    members.append("access_token", .string(token))
    members.append("token_type", "Bearer")
    if let shown { members.append("expires_in", shown) }
    members.append("scope", .string(grant.scopes.joined(separator: " ")))
    return JSONValue.object(members).serialized()
  }
}
