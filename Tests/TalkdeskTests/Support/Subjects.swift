// Helpers that make credentials, clients, tokens and observers for the tests of tokens.

import HTTP
import JOSE
import Platform
import Synchronization
import Talkdesk
import TestSupport
import Tokens

extension ClientCredential {
  /// A client whose key lives as long as the test.
  static func key(_ keyID: String = "key-1", clientID: String = "client-1") throws -> Self {
    .signedJWT(
      clientID: clientID, keyID: keyID,
      signer: try Signer(key: PrivateKey.generate(for: .ES256), algorithm: .ES256))
  }
}

extension TalkdeskID {
  /// A client of a made-up account, on a scripted network and clock.
  static func scripted(
    _ transport: ScriptedTransport, _ time: ManualTime, credentials: [ClientCredential]? = nil,
    endpoints: TalkdeskEndpoints? = nil, retry: RetryPolicy = .never, unit: Double = 0.5
  ) throws -> TalkdeskID {
    TalkdeskID(
      endpoints: endpoints ?? TalkdeskEndpoints(account: "acme"),
      credentials: try credentials ?? [.secret(clientID: "client-1", secret: Secret(Array("s3cret".utf8)))],
      transport: transport, time: time, retry: retry, jitter: { unit })
  }
}

extension AccessToken {
  var text: String { secret.exposedString() }
}

/// An observer that records the reports of a token source.
final class Recorder: TokenSourceObserver {
  private struct State {
    var outcomes: [TokenCacheOutcome] = []
    var reports: [TokenRequestReport] = []
  }

  private let state = Mutex(State())
  var outcomes: [TokenCacheOutcome] { state.withLock { $0.outcomes } }
  var reports: [TokenRequestReport] { state.withLock { $0.reports } }
  func count(_ outcome: TokenCacheOutcome) -> Int { outcomes.count { $0 == outcome } }

  func tokenCache(_ outcome: TokenCacheOutcome, scope: String, lane: Int?) {
    state.withLock { $0.outcomes.append(outcome) }
  }
  func tokenRequest(_ report: TokenRequestReport) { note(report) }
  func note(_ report: TokenRequestReport) { state.withLock { $0.reports.append(report) } }
}

extension ScriptedTransport.Answer {
  /// A token response like Talkdesk's.
  static func token(_ token: String, expiresIn: String? = "600", scope: String? = "callback:write") -> Self {
    var members = ["\"access_token\":\"\(token)\"", "\"token_type\":\"Bearer\""]
    if let expiresIn { members.append("\"expires_in\":\(expiresIn)") }
    if let scope { members.append("\"scope\":\"\(scope)\"") }
    return status(200, "{\(members.joined(separator: ","))}")
  }
}
