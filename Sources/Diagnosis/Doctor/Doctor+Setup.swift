// How `callgate doctor` checks the configuration, without using the network.

import Configuration
import Documents
import JOSE
import Talkdesk
import Tokens
import Upstream

extension DoctorReport {
  mutating func add(_ problem: DocumentProblem) {
    let subject = problem.subject.map { "\($0): " } ?? ""
    fail(
      "configuration", "\(problem.place): \(subject)\(problem.message)",
      fix: problem.remedy.isEmpty ? "correct it" : problem.remedy, .configuration)
  }

  mutating func add(_ notice: ConfigurationNotice) {
    warn(
      "configuration", notice.description, fix: "see docs/operate/configuration.md, or ignore it if intended")
  }
}

extension Doctor {
  /// Reports on the configuration, the keys, the endpoints and the proxy.
  mutating func look(at upstream: Configuration.Upstream, _ notices: [ConfigurationNotice]) {
    report.ok("configuration", "valid")
    for notice in notices { report.add(notice) }
    lookAtKeys(upstream)
    lookAtEndpoints(upstream)
    lookAtProxy(upstream)
  }

  private mutating func lookAtKeys(_ upstream: Configuration.Upstream) {
    switch upstream.authentication {
    case .secret:
      report.ok("secret", "client \(upstream.clientID) with a client secret")
    case .key(let current, let next):
      if let next { lookAt(next, "next", upstream) }
      lookAt(current, next == nil ? nil : "current", upstream)
    }
  }

  private mutating func lookAt(
    _ key: Configuration.SigningKey, _ role: String?, _ upstream: Configuration.Upstream
  ) {
    let client = key.clientID ?? upstream.clientID
    let place =
      switch key.source {
      case .key(let key): "\(key.kind), public key SHA-256 \(key.publicKey.fingerprint)"
      case .signer(let settings, _): "the key \(settings.key) of the signer at \(settings.address)"
      }
    report.ok("key", "\(role.map { "\($0): " } ?? "")client \(client), key id \(key.id), \(place)")
    if key.id == client {
      report.warn(
        "key", "key id and client id are the same", fix: "set TD_KEY_ID to the id Talkdesk gave with the key")
    }
    if key.algorithm == .RS256 {
      report.warn(
        "algorithm",
        "RS256 is not among the algorithms Talkdesk names: ES256, ES384, ES512, PS256, PS384, PS512",
        fix: "set TD_KEY_ALGORITHM to the one given with the key; for an RSA key that is usually PS256")
    } else {
      report.ok("algorithm", "\(role.map { "\($0): " } ?? "")\(key.algorithm.rawValue), which fits the key")
    }
  }

  private mutating func lookAtEndpoints(_ upstream: Configuration.Upstream) {
    let (tokens, api) = (TalkdeskHost(url: upstream.tokenURL), TalkdeskHost(url: upstream.apiURL))
    let shown = "tokens from \(upstream.tokenURL), API at \(upstream.apiURL)"
    switch (tokens, api) {
    case (.api, _):
      report.fail(
        "region", "the token URL names the API's host: \(upstream.tokenURL)",
        fix:
          "leave TD_TOKEN_URL unset and set TD_ACCOUNT_NAME and TD_REGION: tokens come from the account's own host",
        .configuration)
    case (_, .account):
      report.fail(
        "region", "the API URL names a host that issues tokens: \(upstream.apiURL)",
        fix: "leave TD_API_URL unset, or set it to the region's API, as https://api.talkdeskapp.com",
        .configuration)
    case (.account(let one, _), .api(let other)) where one != other:
      report.fail(
        "region",
        "tokens come from region \(one.rawValue), callbacks go to region \(other.rawValue): \(shown)",
        fix: "set TD_REGION to the account's region, and leave TD_TOKEN_URL and TD_API_URL unset",
        .configuration)
    case (.account(let region, _), _): report.ok("region", "\(region.rawValue): \(shown)")
    case (.elsewhere, _): report.ok("region", shown)
    }
    if upstream.audience != upstream.tokenURL {
      report.warn(
        "audience", "assertions are made for \(upstream.audience), not for the token URL",
        fix: "unset TD_AUDIENCE: Talkdesk accepts only the token URL")
    }
  }

  private mutating func lookAtProxy(_ upstream: Configuration.Upstream) {
    let variable = proxies.variable ?? ""
    switch proxies.way(to: upstream.tokenURL) {
    case .direct(excepted: false): report.ok("proxy", "none")
    case .direct(excepted: true):
      report.ok(
        "proxy",
        "\(variable) names a proxy, but connections to this host do not use it (no_proxy, or loopback)")
    case .proxy(let address, _): report.ok("proxy", "\(address), from \(variable)")
    }
  }
}
