// Makes parts of a server from the configuration: the authenticator, limits, the token policy, and the
// settings of the transport for callbacks.

import Callers
package import Configuration
import HTTP
package import HTTPServer
import JOSE
import Platform
package import Tokens
package import Upstream

extension TransportSettings {
  /// The transport settings for callbacks. The queue limits how many callbacks run, so the transport does
  /// not. Each callback has its own connection, and messages are small.
  package static func callbacks(_ authorities: Authorities?, proxies: ProxySettings?) -> TransportSettings {
    TransportSettings(
      authorities: authorities, proxies: proxies, transfersPerPath: 100_000,
      pooledConnections: 1, maximumHeaderLength: 16 * 1024, bufferLength: 1024)
  }
}

extension TokenPolicy {
  /// The token policy in the configuration.
  package init(_ tokens: Configuration.Tokens) {
    self.init(share: tokens.share, minRemaining: tokens.minimumRemaining, deadline: tokens.deadline)
  }
}

extension Authenticator {
  /// The authenticator of the configured callers.
  convenience init(
    _ configuration: Configuration, throttle: LoginThrottle, keys sources: KeySources,
    installations: InstallationCallers?, proofs: ProofVerifier
  ) {
    var basic: [BasicCaller] = []
    var keys: [KeyCaller] = []
    for caller in configuration.callers {
      switch caller.proof {
      case .basic(let username, let password, let isStrong):
        basic.append(
          BasicCaller(
            id: caller.id, username: username, passwordDigest: password.value, isStrong: isStrong))
      case .apiKey(let digest):
        keys.append(KeyCaller(id: caller.id, keyDigest: digest.value))
      case .jwt: break
      }
    }
    self.init(
      basicCallers: basic, keyCallers: keys,
      jwt: JWTAuthenticator(configuration.callers) { sources.source($0) },
      installations: installations, allowsAnonymous: configuration.allowAnonymous, throttle: throttle,
      proofs: proofs, onUnknownIssuer: sources.logUnknownIssuer)
  }
}

extension ServerLimits {
  /// The limits in the configuration.
  package init(_ limits: Configuration.Limits) {
    self.init(
      connections: limits.connections, headerBytes: limits.headerBytes, contentBytes: limits.contentBytes,
      headerTimeout: limits.headerTimeout, requestTimeout: limits.requestTimeout,
      idleTimeout: limits.idleTimeout)
  }
}
