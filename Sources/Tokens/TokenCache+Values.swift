// The values that the token cache keeps and returns.

import Platform

/// The values of the token cache.
extension TokenCache {
  /// Names an exchange.
  struct ExchangeID: Hashable, Sendable { var number: UInt64 }

  /// An exchange that runs or waits for its turn.
  struct Exchange {
    var scope: Int
    /// When it began; until it does, when it was asked for.
    var startedAt: MonotonicTime
    var deadline: MonotonicTime
    var isShared: Bool
    /// Whether it waited for its turn, so that it has less than the whole deadline: that it was not over by then says nothing
    /// about Talkdesk ID.
    var isCurtailed = false
    /// With which values it began, and with which account's.
    var epoch: Int
    var account: Int
  }

  /// The state of one scope.
  struct Entry {
    let scope: String
    var token: AccessToken?
    /// The last point at which the token may be vended.
    var vendableUntil = Expiry.past
    /// The time of its renewal, if it has been used.
    var renewAt = Expiry.never
    /// Whether it was vended since it was obtained.
    var isUsed = false
    /// The exchange whose result all requests wait for.
    var flight: ExchangeID?
    /// Where tokens are not shared: the exchange that probes wait for, and until when the last one that succeeded answers
    /// them.
    var probing: ExchangeID?
    var provenUntil = Expiry.past
    var credential = Cooldown()
    /// Bounds forced refreshes: the theoretical arrival time of GCRA.
    var forcedRefreshes = MonotonicTime(nanoseconds: .min)
  }

  /// The answer to a request for a token that is not at hand.
  enum Answer {
    /// Wait for an exchange; `begin` says whether it is the asker's to begin.
    case wait(ExchangeID, deadline: MonotonicTime, begin: Bool, isShared: Bool)
    /// Wait for the turn of an exchange, which comes before a point or not at all, and for the exchange.
    case waitForTurn(ExchangeID, until: MonotonicTime, deadline: MonotonicTime)
    case fail(TokenError)
  }

  /// The steps after the end of an exchange.
  struct Completion {
    /// The result for all requests that wait.
    var result: Result<AccessToken, TokenError>
    /// When the scope's renewal timer is to go off, where it changed.
    var timer: MonotonicTime?
    /// Exchanges whose turn it is.
    var begin: [ExchangeID] = []
    /// Exchanges that shall not take place.
    var refuse: [(ExchangeID, TokenError)] = []
  }

  /// The next step when a renewal timer fires.
  enum Renewal {
    case begin(ExchangeID)
    case sleep(until: MonotonicTime)
    case rest
  }
}
