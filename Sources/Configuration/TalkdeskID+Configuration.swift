// Creates the client of Talkdesk ID from the configuration.

package import HTTP
import JOSE
package import Platform
package import Talkdesk
import Upstream

extension TalkdeskID {
  /// The client of a configured upstream; without one, a client whose exchanges are all refused.
  package init(_ upstream: Configuration.Upstream?, transport: any HTTPTransport, clock: any TimeSource)
    throws
  {
    guard let upstream else {
      self.init(
        endpoints: TalkdeskEndpoints(tokenURL: "", audience: "", apiBase: ""), credentials: [],
        transport: transport,
        time: clock)
      return
    }
    let credentials: [ClientCredential] =
      switch upstream.authentication {
      case .secret(let secret): [.secret(clientID: upstream.clientID, secret: secret)]
      case .key(let key, let next):
        try (next.map { [$0, key] } ?? [key]).map { key in
          let clientID = key.clientID ?? upstream.clientID
          switch key.source {
          case .key(let material):
            return ClientCredential.signedJWT(
              clientID: clientID, keyID: key.id, signer: try Signer(key: material, algorithm: key.algorithm))
          case .signer(let settings, let authorities):
            let way: any HTTPTransport =
              try authorities.map { try CurlTransport(TransportSettings(authorities: $0)) } ?? transport
            return .transit(
              clientID: clientID, keyID: key.id,
              signer: TransitSigner(settings, algorithm: key.algorithm, transport: way, time: clock))
          }
        }
      }
    let endpoints = TalkdeskEndpoints(
      tokenURL: upstream.tokenURL, audience: upstream.audience, apiBase: upstream.apiURL)
    self.init(endpoints: endpoints, credentials: credentials, transport: transport, time: clock)
  }
}
