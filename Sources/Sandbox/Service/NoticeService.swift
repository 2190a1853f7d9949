// Handles a request to a push provider: checks it, applies a fault and writes the journal.

import HTTP
import JSON
import Platform
import Synchronization

/// The push providers: FCM with its token endpoint, and a webhook receiver.
struct NoticeService: Sendable {
  /// The path of Google's token endpoint. No fault can affect it.
  static let tokenPath = "/fcm/token"
  /// The path of the webhook receiver.
  static let hookPath = "/_sandbox/hook"

  let issuer: EmulatedTokenIssuer
  /// The secret that signs webhooks.
  let hookSecret: [UInt8]

  init(issuer: EmulatedTokenIssuer) {
    self.issuer = issuer
    var generator = SystemRandomNumberGenerator()
    hookSecret = (0..<32).map { _ in generator.next() }
  }

  /// The project in the path of FCM's API; nil for another path.
  static func project(in path: String) -> Substring? {
    let (start, end) = ("/v1/projects/", "/messages:send")
    guard path.hasPrefix(start), path.hasSuffix(end), path.utf8.count > start.utf8.count + end.utf8.count
    else {
      return nil
    }
    return path.dropFirst(start.count).dropLast(end.count)
  }

  /// Handles a request and returns how to end it.
  func act(
    _ call: Call, path: String, baseURL: String, now: UnixTime, state: borrowing Mutex<EmulatorState>
  ) -> Ending {
    guard call.method == .post else {
      let refusal = HookEndpoint.content("the method is not POST")
      return Ending(.json(.methodNotAllowed, refusal, fields: ["Allow": "POST"]))
    }
    if path == Self.tokenPath {
      return Ending(token(call, baseURL: baseURL, now: now, state.withLock { $0.serviceAccount }))
    }
    let provider: NoticeRecord.Provider = path == Self.hookPath ? .http : .fcm
    let fault = state.withLock { $0.faults.take(provider == .http ? .hook : .fcm) }
    var record = NoticeRecord(time: now, provider: provider, outcome: .fault)
    let ending: Ending
    if let fault, fault.preventsAction {
      record.outcome = fault.drop == .before ? .droppedBefore : .fault
      let reply = fault.refusal().map { fault.apply(to: $0, isRefusalOfTheRequest: false) }
      ending = Ending(reply, after: fault.delay, isCutOff: fault.drop == .during)
    } else {
      let reply = reply(to: call, path: path, baseURL: baseURL, now: now, &record)
      ending = Self.end(reply, fault, &record)
    }
    record.status = ending.reply?.status.code
    state.withLock { $0.journal.record(record) }
    return ending
  }

  private func token(_ call: Call, baseURL: String, now: UnixTime, _ account: FCMAccount?) -> Reply {
    let scopes: [String]
    do throws(TokenRefusal) {
      scopes = try FCMTokenEndpoint.check(call, account, audience: baseURL + Self.tokenPath, now: now)
    } catch {
      return .json(error.status, error.content)
    }
    do {
      let token = try issuer.issue(
        issuer: baseURL, audience: baseURL + Self.tokenPath, clientID: FCMAccount.clientEmail,
        scopes: scopes, lifetime: FCMTokenEndpoint.lifetime, now: now.seconds)
      let content: JSONObject = [
        "access_token": .string(token), "expires_in": .number(JSONNumber(FCMTokenEndpoint.lifetime - 1)),
        "token_type": "Bearer",
      ]
      return .json(.ok, content.serialized(), fields: ["Cache-Control": "no-store"])
    } catch {
      // Only OpenSSL without memory or entropy gets here.
      return .json(
        .internalServerError, TokenRefusal.content(error: "internal_failure", explanation: "signing failed"))
    }
  }

  /// The scopes of a request's access token; nil if the token is missing or invalid.
  func scopes(of call: Call, baseURL: String, now: UnixTime) -> [String]? {
    guard let bearer = call.credentials(scheme: "bearer"),
      case .success(let token) = issuer.read(bearer, audience: baseURL + Self.tokenPath, now: now.seconds)
    else { return nil }
    return token.scopes
  }

  /// The provider's response. The record gets the notice, or the reason for a refusal.
  private func reply(
    to call: Call, path: String, baseURL: String, now: UnixTime, _ record: inout NoticeRecord
  ) -> Reply {
    record.outcome = .refused
    let reply: Reply
    if let project = Self.project(in: path) {
      do throws(FCMError) {
        record.notice = try FCMEndpoint.notice(
          call, project: String(project), issuer: issuer, audience: baseURL + Self.tokenPath, now: now)
        let name = "projects/\(project)/messages/\(Identifier.random())"
        reply = .json(.ok, JSONValue.object(["name": .string(name)]).serialized())
      } catch {
        record.error = error.message
        return .json(error.status, error.content)
      }
    } else {
      do throws(HookEndpoint.Refusal) {
        record.notice = try HookEndpoint.notice(call, secret: hookSecret, now: now)
        reply = .json(.ok, Array("{}".utf8))
      } catch {
        record.error = error.error
        return .json(error.status, HookEndpoint.content(error.error))
      }
    }
    record.outcome = .accepted
    return reply
  }

  /// Applies a fault that does not prevent the action to a response.
  private static func end(_ reply: Reply, _ fault: Fault?, _ record: inout NoticeRecord) -> Ending {
    guard let fault else { return Ending(reply) }
    let isRefusal = record.outcome == .refused
    if !isRefusal, let drop = fault.drop { record.outcome = drop == .after ? .droppedAfter : .droppedDuring }
    guard fault.drop != .after else { return Ending(nil, after: fault.delay) }
    return Ending(
      fault.apply(to: reply, isRefusalOfTheRequest: isRefusal), after: fault.delay,
      isCutOff: fault.drop == .during)
  }
}
