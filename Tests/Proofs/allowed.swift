// Must compile: code that accepts a caller and a grant from the rooms that make them, and vends a token for
// the grant.

import Callers
import Gate
import Tokens

func words(_ caller: Caller, _ grant: borrowing Grant) -> String { "\(caller.id) \(grant.action)" }

func token(
  _ source: TokenSource, _ scope: TokenSource.ScopeID, _ grant: consuming Grant
) async throws -> AccessToken {
  try await source.vend(grant, scope: scope)
}
