// What a host of Sendbird has said lately, and how long the server leaves it alone for that.

import HTTP
import Platform
import Tokens

/// The cool-downs of one host, and its latest answer. New settings begin another epoch, to which earlier requests say nothing.
struct SendbirdStanding {
  private(set) var epoch = 0
  /// The latest request of this epoch that says anything about all users; nil before the first.
  private(set) var latest: SendbirdReport?
  /// The users that met a failure without a code, by its status, and until when that counts.
  private var suspicions: [Int: [UserID: Expiry]] = [:]
  /// The latest request with such a failure, by its status.
  private var suspects: [Int: SendbirdReport] = [:]
  private var cooldowns: [Cooldown.Kind: Cooldown] = [:]

  /// The cool-down in force: the one that lasts longest.
  func coolingDown(_ now: MonotonicTime) -> (cause: TokenExchangeError, remaining: Duration)? {
    cooldowns.values.compactMap { $0.rest(at: now) }.max { $0.remaining < $1.remaining }
  }

  /// Takes note of one request.
  mutating func note(_ report: SendbirdReport, of epoch: Int) {
    guard epoch == self.epoch else { return }
    switch report.failure?.concern {
    case nil, .everyUser: latest = report
    case .perhapsEveryUser: suspects[report.failure?.cause.status ?? 0] = report
    case .thisUser, .unknownUser, .knownUser: break
    }
  }

  /// How long it counts that a user met a failure without a code, and how many users have to meet it before it concerns all.
  static let suspicionLife = Duration.seconds(30)
  static let enoughUsers = 3

  /// The failure of one user's request. One without a code concerns every user as soon as two others have met it.
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

  /// Ends the cool-downs that began before a request that succeeded. Not every user meets the failures without a code, then.
  mutating func succeeded(startedAt start: MonotonicTime, of epoch: Int) {
    guard epoch == self.epoch else { return }
    suspicions = [:]
    for kind in Cooldown.Kind.allCases { cooldowns[kind]?.succeed(startedAt: start) }
  }

  /// Cools down after a failure that every user would meet.
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

  /// Takes other settings into use.
  /// - Parameter hasSameToken: Whether the credential stays. The cool-down of another one ends.
  mutating func begin(hasSameToken: Bool) {
    epoch += 1
    (suspicions, suspects) = ([:], [:])
    guard !hasSameToken else { return }
    cooldowns[.credential] = nil
    latest = nil
  }
}
