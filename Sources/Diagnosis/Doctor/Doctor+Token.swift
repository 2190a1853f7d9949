// How `callgate doctor` checks the lifetime and the claims of a token that it received.

import Configuration
import Documents
import JOSE
import JSON
import Talkdesk
import Tokens

extension Doctor {
  /// Compares a token's lifetime with `tokens.min_remaining`.
  mutating func reportLifetime(_ token: AccessToken) {
    guard let lifetime = token.lifetime else {
      return report.warn(
        "lifetime",
        "the response does not say how long the token lives, so the server issues each token once",
        fix: "ask Talkdesk for expires_in; until then expect an exchange for every request")
    }
    let (life, wanted) = (
      lifetime.components.seconds, configuration.tokens.minimumRemaining.components.seconds
    )
    guard lifetime >= configuration.tokens.minimumRemaining else {
      return report.warn(
        "lifetime",
        "\(life) s, less than tokens.min_remaining (\(wanted) s): the server issues tokens with half of their life left",
        fix: "lower tokens.min_remaining to what apps need; Talkdesk's tokens usually live 600 s")
    }
    report.ok("lifetime", "\(life) s")
  }

  /// Reports the claims of a token that is a JWT, and checks its client and its API.
  mutating func reportClaims(_ token: AccessToken) {
    guard let claims = Self.claims(of: token) else {
      return report.ok("token", "opaque; doctor cannot read its claims")
    }
    let audiences = claims["aud"]?.string.map { [$0] } ?? claims["aud"]?.array?.compactMap(\.string) ?? []
    let api = client.endpoints.apiBase
    let shown = [
      claims["iss"]?.string.map { "issued by \(quoted($0, limit: 128))" },
      audiences.first.map { "for \(quoted($0, limit: 128))" },
    ].compactMap { $0 }.joined(separator: ", ")
    if let client = claims["cid"]?.string, client != token.clientID {
      report.warn(
        "token", "it was issued to client \(quoted(client)), not to \(token.clientID)",
        fix: "check TD_CLIENT_ID: perhaps the key is another client's")
    }
    if let first = audiences.first, first.contains("://"), !audiences.contains(where: { Self.same($0, api) })
    {
      if let theirs = TalkdeskHost(url: first).region, let ours = TalkdeskHost(url: api).region,
        theirs != ours
      {
        return report.fail(
          "token", "it is for region \(theirs.rawValue), and callbacks go to region \(ours.rawValue)",
          fix: "set TD_REGION=\(theirs.rawValue), and leave TD_TOKEN_URL and TD_API_URL unset", .configuration
        )
      }
      return report.warn(
        "token", "it is for \(quoted(first, limit: 128)), and callbacks go to \(api)",
        fix: "set TD_API_URL to the first of these, unless the difference is intended")
    }
    report.ok("token", shown.isEmpty ? "a JWT without iss and aud" : "a JWT, \(shown)")
  }

  /// The claims of a JWT, unverified: the token just came from Talkdesk ID over TLS, and no decision depends
  /// on them.
  private static func claims(of token: AccessToken) -> JSONObject? {
    do {
      return try JSONValue(parsing: JWS.Compact(parsing: token.secret.exposedBytes()).payload).object
    } catch {
      return nil  // Not a JWT. Opaque tokens are fine.
    }
  }

  private static func same(_ a: String, _ b: String) -> Bool {
    func bare(_ text: String) -> Substring { text.hasSuffix("/") ? text.dropLast() : text[...] }
    return bare(a) == bare(b)
  }
}
