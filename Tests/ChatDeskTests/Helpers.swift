// Helpers that make grants, users, clients and replies for the tests of chat desks.

import Gate
import HTTP
import JOSE
import JSON
import Platform
import Synchronization
import TestSupport
import Tokens

@testable import ChatDesk

/// A grant for a subject, without rules.
func grant(_ subject: String = "ann", _ action: Action = .access) throws -> Grant {
  let facts = Facts(
    action: action, callerID: "app", subject: subject, address: nil, phone: try E164("+14155550165"),
    instant: Instant(seconds: 0))
  let decision = Policy(brakes: .off).decide(facts, states: FetchedStates())
  guard case .granted(_, let grant) = decision.settled(.taken([]), at: facts.instant) else {
    preconditionFailure("no rule objects")
  }
  return grant
}

/// A user named only by the subject.
func user(_ subject: String = "ann") -> DeskUser { UserIDForm.subjectAlone.user(subject, of: "app") }

extension UserIDForm {
  /// The user of an owner whose name is the subject.
  func user(_ subject: String, of callerID: String) -> DeskUser {
    user(subject, of: callerID, requestedAs: subject)
  }
}

/// Settings of a made-up application.
func sendbird(_ token: String = "master", life: Duration = .seconds(3600)) -> SendbirdSettings {
  SendbirdSettings(
    url: "https://api-app.sendbird.com", apiToken: Secret(token), tokenLife: life, deadline: .seconds(10))
}

extension SendbirdAPI {
  static func scripted(
    _ transport: ScriptedTransport, _ time: ManualTime, retry: RetryPolicy = .never
  ) -> SendbirdAPI {
    SendbirdAPI(sendbird(), transport: transport, time: time, retry: retry, jitter: { 0.5 })
  }
}

/// A source of session tokens on a scripted network and clock, and its reports.
final class Desk: Sendable {
  let transport: ScriptedTransport
  let time = ManualTime()
  let source: SessionSource
  private let told: Told

  private final class Told: Sendable {
    let outcomes = Mutex<[TokenCacheOutcome]>([])
    let reports = Mutex<[SendbirdReport]>([])
  }

  init(
    retry: RetryPolicy = .never,
    _ script: @escaping @Sendable (Int, OutboundRequest) -> ScriptedTransport.Answer = { _, _ in .hold }
  ) {
    let (transport, told) = (ScriptedTransport(script), Told())
    self.transport = transport
    self.told = told
    source = SessionSource(
      .scripted(transport, time, retry: retry), time: time,
      observe: { report in told.reports.withLock { $0.append(report) } },
      count: { outcome, _ in told.outcomes.withLock { $0.append(outcome) } }, jitter: { 0 })
  }

  var outcomes: [TokenCacheOutcome] { told.outcomes.withLock { $0 } }
  var reports: [SendbirdReport] { told.reports.withLock { $0 } }

  /// Requests a token. Returns it, or the error in a few words.
  func vend(_ subject: String = "ann") async throws -> String {
    do throws(TokenError) {
      return try await source.vend(try grantOrStop(subject), user: user(subject), if: { true }).secret
        .exposedString()
    } catch {
      return Self.words(error)
    }
  }

  /// The cached token, if there is one.
  func atOnce(_ subject: String = "ann") throws -> String? {
    switch source.vendAtOnce(try grant(subject), user: user(subject), now: time.now) {
    case .token(let token): return token.secret.exposedString()
    case .notCached: return nil
    }
  }

  private func grantOrStop(_ subject: String) throws(TokenError) -> Grant {
    do {
      return try grant(subject)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// An error in a few words: its kind, its cause, and how long to wait.
  static func words(_ error: TokenError) -> String {
    let wait = error.retryAfter.map { " \($0.nanosecondsClamped / 1_000_000)" } ?? ""
    return switch error {
    case .exchangeFailed(let cause, _): "failed \(cause.label)\(wait)"
    case .coolingDown(let cause, _): "cooling \(cause.label)\(wait)"
    case .overloaded: "overloaded\(wait)"
    case .cancelled: "cancelled"
    case .deadlineExceeded, .shutDown, .upstreamChanged, .unrecorded: "\(error)"
    }
  }
}

extension ScriptedTransport.Answer {
  /// A response with a session token, like Sendbird's.
  static func session(_ token: String, expiresAt: Int64? = nil) -> Self {
    var members: JSONObject = ["token": .string(token)]
    if let expiresAt { members["expires_at"] = .number(JSONNumber(expiresAt)) }
    return status(200, String(decoding: members.serialized(), as: UTF8.self))
  }

  /// An error response like Sendbird's.
  static func error(_ code: Int, status: Int = 400, fields: Fields = [:]) -> Self {
    self.status(status, #"{"error":true,"code":\#(code),"message":"no"}"#, fields: fields)
  }
}

extension OutboundRequest {
  /// The path and the members of the content.
  var path: String { url.replacing("https://api-app.sendbird.com", with: "") }
  var members: JSONObject {
    get throws { try JSONValue(parsing: Array(content)).object ?? [:] }
  }
}
