// The parts of the callback code that survive a reload, and how a configuration uses them.

import HTTP
import Metrics
import Platform
import Records
import Store
import Synchronization
import Tokens

/// The callbacks' part of what outlives a configuration.
struct CallbackParts: Sendable {
  /// Where they are kept.
  let store: RetryingStore
  /// Who may ask Talkdesk now.
  let originator: Originator
  /// What this process is busy with.
  let inHand: CallbacksInHand
  /// The way to the Callback API: its own, so that a crowd of callbacks takes nothing from exchanges.
  let transport: any HTTPTransport
  let clock: any TimeSource
  let log: CallbackLog
  let metrics: ServiceMetrics
  /// What callbacks use of the brakes.
  let brakes: BrakeWatch

  /// Callbacks became `unknown` because nobody will settle them: their process has ended, or could not write.
  func recovered(_ count: Int) {
    log.recovered(count)
    metrics.callbacks.count(StoredCallback.Status.unknown.rawValue, by: count)
  }
}

extension Generation {
  /// What carries out callbacks under this configuration.
  func origination(_ parts: CallbackParts, tokens: TokenSource) -> Origination {
    origination.withLock { origination in
      if let origination { return origination }
      let made = Origination(
        parts, tokens: tokens, ledger: decider.ledger, stops: decider.stops, api: callbackAPI,
        scope: scopes.callbacks(tokens), upstream: upstream)
      origination = made
      return made
    }
  }
}

/// The terms of every app's callbacks, made ready.
struct CallbackTermsTable: Sendable {
  private let own: [String: CallbackTerms]
  private let usual: CallbackTerms

  init(_ configuration: Configuration) {
    usual = CallbackTerms(app: nil, configuration)
    own = Dictionary(
      uniqueKeysWithValues: configuration.apps.map { ($0.id, CallbackTerms(app: $0, configuration)) })
  }

  /// The terms of an app, or of requests without one.
  func terms(of appID: String?) -> CallbackTerms { appID.flatMap { own[$0] } ?? usual }
}
