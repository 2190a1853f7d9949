// Makes callbacks for the tests as the endpoint does.

import Gate
import Store

extension CallbackIntent {
  /// An intent of one of a few callers, with short terms: a window of a minute, keys for an hour, records for a day.
  static func made(
    _ contact: String = "+14155550165", caller: String = "ios-app", key: String? = nil, asks: String = "a",
    subject: String? = nil, app: String? = nil, window: Duration = .seconds(60),
    keyRetention: Duration = .seconds(3600), retention: Duration = .seconds(86_400),
    at now: Instant = .noon(), deadline: Double = 20
  ) -> CallbackIntent {
    guard let number = try? E164(contact) else { preconditionFailure("a number") }
    return CallbackIntent(
      id: CallbackID(at: now), callerID: caller, subject: subject, appID: app, contact: number,
      key: key.map { CallbackIntent.Key(text: $0, fingerprint: Array(asks.utf8)) },
      terms: Terms(dedupeWindow: window, keyRetention: keyRetention, retention: retention),
      deadline: now.later(deadline))
  }
}

extension Instant {
  /// This time plus seconds and nanoseconds.
  func later(_ seconds: Double, nanoseconds: Int64 = 0) -> Instant {
    let sum = nanosecondsSinceEpoch + Int64(seconds * 1e9) + nanoseconds
    return Instant(seconds: sum / 1_000_000_000, nanoseconds: Int32(sum % 1_000_000_000))
  }
}

extension CallbackSettlement {
  /// An accepted callback. Its key stays taken.
  static func accepted(at time: Instant = .noon(1)) -> CallbackSettlement {
    CallbackSettlement(
      .accepted, upstreamStatus: 200, platformTID: "tid-1",
      keepsKey: true, at: time)
  }

  /// An unknown outcome: the phone may ring.
  static func unknown(at time: Instant = .noon(1)) -> CallbackSettlement {
    CallbackSettlement(.unknown, code: "outcome_unknown", upstreamStatus: 500, keepsKey: true, at: time)
  }

  /// A failed callback. Repetitions get the refused fields; without fields the key is free again.
  static func failed(fields: [String]? = nil, at time: Instant = .noon(1)) -> CallbackSettlement {
    CallbackSettlement(
      .failed, code: "upstream_unavailable", upstreamStatus: 503,
      refusedFields: fields ?? [], keepsKey: fields != nil, at: time)
  }
}

extension CallbackBeginning {
  /// The earlier callback because of which nothing began.
  var first: CallbackID? {
    switch self {
    case .begun, .mismatch, .exhausted: nil
    case .duplicate(let id), .inProgress(let id): id
    case .replay(let record): record.id
    }
  }
}
