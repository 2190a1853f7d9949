// Tracks the health of one Sendbird host: its latest result, and how long the server sends it nothing after
// failures.

import HTTP
import Platform
import Tokens

/// The cool-downs of one host, and its latest result. New settings start a new epoch; results of requests
/// from earlier epochs are ignored.
struct SendbirdStanding {
  private(set) var epoch = 0
  /// The latest request with the current credential whose result applies to all users; nil before the first.
  private(set) var latest: SendbirdReport?
  /// The users that met a failure of concern `perhapsEveryUser`, by its status. Each entry has an expiry.
  private var suspicions: [Int: [UserID: Expiry]] = [:]
  /// The latest request with such a failure, by its status.
  private var suspects: [Int: SendbirdReport] = [:]
  private var cooldowns: [Cooldown.Kind: Cooldown] = [:]

  /// The active cool-down that lasts longest; nil if none is active.
  func coolingDown(_ now: MonotonicTime) -> (cause: TokenExchangeError, remaining: Duration)? {
    cooldowns.values.compactMap { $0.rest(at: now) }.max { $0.remaining < $1.remaining }
  }

  /// Records the result of one request.
  mutating func note(_ report: SendbirdReport, of epoch: Int) {
    guard epoch == self.epoch else { return }
    switch report.failure?.concern {
    case nil, .everyUser: latest = report
    case .perhapsEveryUser: suspects[report.failure?.cause.status ?? 0] = report
    case .thisUser, .unknownUser, .knownUser: break
    }
  }

  /// The time for which such a failure of one user counts, and the number of users that must meet it before
  /// it affects all users.
  static let suspicionLife = Duration.seconds(30)
  static let enoughUsers = 3

  /// The failure of one user's request. A failure of concern `perhapsEveryUser` affects every user once two
  /// other users have met it.
  mutating func judged(
    _ failure: SendbirdFailure, of user: UserID, of epoch: Int, now: MonotonicTime
  ) -> SendbirdFailure {
    guard case .perhapsEveryUser = failure.concern, epoch == self.epoch else { return failure }
    let status = failure.cause.status ?? 0
    var users = (suspicions[status] ?? [:]).filter { now < $0.value }
    users[user] = Expiry(now + Self.suspicionLife)
    guard users.count >= Self.enoughUsers else {
      suspicions[status] = users
      return failure
    }
    suspicions[status] = nil
    latest = suspects[status]
    return SendbirdFailure(failure.cause)
  }

  /// Ends the cool-downs that started before this successful request. Also clears the failures of concern
  /// `perhapsEveryUser`, because evidently not every user meets them.
  mutating func succeeded(startedAt start: MonotonicTime, of epoch: Int) {
    guard epoch == self.epoch else { return }
    suspicions = [:]
    for kind in Cooldown.Kind.allCases { cooldowns[kind]?.succeed(startedAt: start) }
  }

  /// Returns the error for a failed request, and starts a cool-down if every user would meet the failure.
  /// - Parameter unit: A random number in 0..<1.
  mutating func failed(
    _ failure: SendbirdFailure, startedAt start: MonotonicTime, of epoch: Int, now: MonotonicTime,
    unit: Double
  ) -> TokenError {
    if case .transport(let error) = failure.cause, error.reason == .overloaded {
      return .overloaded(retryAfter: error.retryAfter ?? .seconds(1))
    }
    guard epoch == self.epoch, case .everyUser = failure.concern else {
      return .exchangeFailed(failure.cause, retryAfter: .seconds(1))
    }
    if let kind = Cooldown.kind(of: failure.cause) {
      cooldowns[kind, default: Cooldown()].record(failure.cause, startedAt: start, now: now, unit: unit)
    }
    return .exchangeFailed(failure.cause, retryAfter: coolingDown(now)?.remaining ?? .seconds(1))
  }

  /// Ends every cool-down.
  mutating func endCoolDowns() { cooldowns = [:] }

  /// Starts a new epoch for other settings.
  /// - Parameter hasSameToken: Whether the credential is unchanged. If not, the cool-down of the old
  ///   credential ends.
  mutating func begin(hasSameToken: Bool) {
    epoch += 1
    (suspicions, suspects) = ([:], [:])
    guard !hasSameToken else { return }
    cooldowns[.credential] = nil
    latest = nil
  }
}
