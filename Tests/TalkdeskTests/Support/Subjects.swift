import HTTP
import JOSE
import Platform
import Synchronization
import Talkdesk

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
      endpoints: try endpoints ?? TalkdeskEndpoints(account: "acme"),
      credentials: try credentials ?? [.secret(clientID: "client-1", secret: Secret(Array("s3cret".utf8)))],
      transport: transport, time: time, retry: retry, jitter: { unit })
  }
}

extension AccessToken {
  var text: String { secret.exposedString() }
}

/// Writes down what a token source tells.
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

/// Random numbers that are the same on every run.
struct Dice: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

  /// SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }

  mutating func unit() -> Double { .random(in: 0..<1, using: &self) }
}
