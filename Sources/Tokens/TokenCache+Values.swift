// The types that the token cache stores and returns.

import Platform

extension TokenCache {
  struct ExchangeID: Hashable, Sendable { var number: UInt64 }

  /// An exchange that runs or waits for its turn.
  struct Exchange {
    var scope: Int
    /// When the exchange started; before that, when it was requested.
    var startedAt: MonotonicTime
    var deadline: MonotonicTime
    var isShared: Bool
    /// Whether the exchange waited for its turn, so that it has less than the whole time. Its timeout then
    /// says nothing about Talkdesk ID.
    var isCurtailed = false
    /// The cache's `epoch` and `account` when the exchange started.
    var epoch: Int
    var account: Int
  }

  /// The state of one scope.
  struct Entry {
    let scope: String
    var token: AccessToken?
    /// The latest time at which the token may be vended.
    var vendableUntil = Expiry.past
    /// When the token is renewed, if it was used.
    var renewAt = Expiry.never
    /// Whether the token was vended since it was obtained.
    var isUsed = false
    /// The exchange whose result all requests wait for.
    var flight: ExchangeID?
    /// If tokens are not shared: the exchange that probes wait for, and the time until which the last
    /// successful exchange answers probes.
    var probing: ExchangeID?
    var provenUntil = Expiry.past
    var credential = Cooldown()
    /// The limit on forced refreshes: the theoretical arrival time of GCRA.
    var forcedRefreshes = MonotonicTime(nanoseconds: .min)
  }

  /// The answer to a request for a token that is not in the cache.
  enum Answer {
    /// Wait for an exchange; if `begin` is true, the requester starts it.
    case wait(ExchangeID, deadline: MonotonicTime, begin: Bool, isShared: Bool)
    /// Wait for the turn of an exchange, and then for the exchange. If its turn has not come by `until`, it
    /// never starts.
    case waitForTurn(ExchangeID, until: MonotonicTime, deadline: MonotonicTime)
    case fail(TokenError)
  }

  /// The steps after the end of an exchange.
  struct Completion {
    /// The result for all requests that wait.
    var result: Result<AccessToken, TokenError>
    /// The new time of the scope's renewal timer, if it changed.
    var timer: MonotonicTime?
    /// Exchanges that start now.
    var begin: [ExchangeID] = []
    /// Exchanges that must not start.
    var refuse: [(ExchangeID, TokenError)] = []
  }

  /// The next step when a renewal timer fires.
  enum Renewal {
    case begin(ExchangeID)
    case sleep(until: MonotonicTime)
    case rest
  }
}
