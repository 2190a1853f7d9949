// Must not compile: one grant vends two tokens.

import Gate
import Tokens

func tokens(
  _ source: TokenSource, _ scope: TokenSource.ScopeID, _ grant: consuming Grant
) async throws -> [AccessToken] {
  [try await source.vend(grant, scope: scope), try await source.vend(grant, scope: scope)]
}
