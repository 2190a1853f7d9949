// Must not compile: code outside of `Tokens` reads a cached token without a grant.

import Platform
import Tokens

func token(_ source: TokenSource, _ scope: TokenSource.ScopeID, now: MonotonicTime) -> AccessToken? {
  source.cached(scope, now: now)
}
