// Tests of when provider tokens are signed, and which one is used.

import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Notices

extension APNsSettings {
  /// Settings with a new key.
  static func sample(
    _ key: PrivateKey? = nil, url: String? = nil
  ) throws -> APNsSettings {
    try APNsSettings(
      key: try (key ?? PrivateKey.generate(for: .ES256)).pem().exposedBytes(), keyID: "ABC123DEFG",
      teamID: "DEF123GHIJ", topic: "com.example.shop", url: url)
  }
}

@Suite struct ProviderTokensTests {
  private let time = ManualTime()
  private let tokens: ProviderTokens
  private let key: PrivateKey

  init() throws {
    key = try PrivateKey.generate(for: .ES256)
    tokens = ProviderTokens(try APNsSettings.sample(key), time: time)
  }

  @Test func `a token is an ES256 JWT of team, key and 30 s before its signing, and has no expiry`()
    throws
  {
    let bearer = try tokens.token().bearer.exposedString()
    #expect(bearer.hasPrefix("bearer "))
    let (header, claims) = try verified(String(bearer.dropFirst(7)), by: key.publicKey, .ES256)
    #expect(header == ["alg": "ES256", "kid": "ABC123DEFG"])
    #expect(claims == ["iss": "DEF123GHIJ", "iat": 1_799_999_970])
  }

  @Test func `a token serves for 50 minutes`() throws {
    let first = try tokens.token()
    time.advance(by: .seconds(50 * 60) - .nanoseconds(1))
    #expect(try tokens.token() === first)
    time.advance(by: .nanoseconds(1))
    let second = try tokens.token()
    #expect(second !== first)
    #expect(try tokens.token() === second)
    // As if the machine was suspended: only its wall clock advanced.
    time.stepWallClock(by: 50 * 60)
    #expect(try tokens.token() !== second)
  }

  @Test func `an expired token is replaced no sooner than 20 minutes after it was signed`() throws {
    let first = try tokens.token()
    time.advance(by: .seconds(20 * 60) - .nanoseconds(1))
    #expect(try tokens.replacement(of: first, atAnyAge: false) == nil)
    time.advance(by: .nanoseconds(1))
    let second = try #require(try tokens.replacement(of: first, atAnyAge: false))
    #expect(second !== first)
    // Another request that was refused with the first one gets the second.
    #expect(try tokens.replacement(of: first, atAnyAge: false) === second)
    #expect(try tokens.replacement(of: second, atAnyAge: false) == nil)
  }

  @Test func `a token that came too soon gives way to the one before it for 20 minutes`() throws {
    let first = try tokens.token()
    time.advance(by: .seconds(25 * 60))
    let second = try #require(try tokens.replacement(of: first, atAnyAge: false))
    #expect(tokens.fallback(from: second) === first)
    #expect(try tokens.token() === first)
    time.advance(by: .seconds(20 * 60))
    #expect(try tokens.token() === second)
  }

  @Test func `there is nothing to go back to but a token that is younger than 58 minutes`() throws {
    let first = try tokens.token()
    #expect(tokens.fallback(from: first) == nil)
    time.advance(by: .seconds(58 * 60))
    let second = try tokens.token()
    #expect(tokens.fallback(from: second) == nil)
  }

  @Test func `a token that is preferred serves no longer than 58 minutes`() throws {
    let first = try tokens.token()
    time.advance(by: .seconds(50 * 60))
    let second = try tokens.token()
    #expect(tokens.fallback(from: second) === first)
    time.advance(by: .seconds(8 * 60) - .nanoseconds(1))
    #expect(try tokens.token() === first)
    time.advance(by: .nanoseconds(1))
    #expect(try tokens.token() === second, "signed anew, and too soon again")
  }
}
