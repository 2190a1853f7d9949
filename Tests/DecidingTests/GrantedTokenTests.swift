// Tests of which grant brings which token.

import Gate
import HTTP
import Platform
import TestSupport
import Testing

@testable import Tokens

@Suite struct GrantedTokenTests {
  /// An issuer that never returns a token.
  private struct Nobody: TokenIssuer {
    var credentialStatus: [CredentialStatus] { [] }
    func exchange(
      scope: String, deadline: MonotonicTime, trace: TraceContext?,
      observe: @Sendable (TokenRequestReport) -> Void, change: @Sendable (CredentialStatus) -> Void
    ) async throws(TokenExchangeError) -> AccessToken {
      throw .signingFailed("no key")
    }
    func tryAllAgain() {}
    func inherit(from other: any TokenIssuer) {}
    func keeps(_ token: AccessToken, of other: any TokenIssuer) -> Bool { true }
  }

  private static func source() -> TokenSource { TokenSource(issuer: Nobody(), time: ManualTime()) }

  /// A grant for an action, without rules.
  private static func grant(_ action: Action) throws -> Grant {
    let facts = Facts(
      action: action, callerID: "app", address: nil, phone: try E164("+14155550165"),
      instant: Instant(seconds: 0))
    let decision = Policy(brakes: .off).decide(facts, states: FetchedStates())
    guard case .granted(_, let grant) = decision.settled(.taken([]), at: facts.instant) else {
      preconditionFailure("no rule objects")
    }
    return grant
  }

  @Test func `without a token at hand the grant comes back, and serves for the exchange`() async throws {
    let source = GrantedTokenTests.source()
    let scope = source.scopeID("s")
    switch source.vendAtOnce(try GrantedTokenTests.grant(.access), scope: scope, now: .init(nanoseconds: 0)) {
    case .token: Issue.record("a token from nobody")
    case .notCached(let grant):
      do throws(TokenError) {
        _ = try await source.vend(grant, scope: scope)
        Issue.record("a token from nobody")
      } catch {
        guard case .exchangeFailed = error else {
          Issue.record("\(error)")
          return
        }
      }
    }
  }

  @Test func `a grant of another action brings no token`() async {
    await #expect(processExitsWith: .failure) {
      let source = GrantedTokenTests.source()
      _ = try await source.vend(try GrantedTokenTests.grant(.callback), scope: source.scopeID("s"))
    }
    await #expect(processExitsWith: .failure) {
      let source = GrantedTokenTests.source()
      _ = source.vendAtOnce(
        try GrantedTokenTests.grant(.callback), scope: source.scopeID("s"), now: .init(nanoseconds: 0))
    }
    await #expect(processExitsWith: .failure) {
      let source = GrantedTokenTests.source()
      let grant = try GrantedTokenTests.grant(.access)
      _ = source.tokenAtOnce(
        for: grant, scope: source.scopeID("s"), of: source.upstream, now: .init(nanoseconds: 0))
    }
  }
}
