// The connections of a server to other services.

import Configuration
import Serving
import Talkdesk
import Tokens
import Upstream

/// The connections of a server to other services. They outlive a configuration.
struct Upstreams: Sendable {
  /// The transport for every service without its own.
  let transport: CurlTransport
  /// The transport for the Callback API. Separate, so that many callbacks do not delay token exchanges.
  let callbacks: CurlTransport
  /// The source of Talkdesk tokens.
  let tokens: TokenSource
  private let authorities: Authorities?
  private let proxies: ProxySettings?

  /// Creates the connections. They send nothing yet.
  init(_ configuration: Configuration, _ surroundings: Surroundings) throws(StartError) {
    authorities = configuration.authorities
    // The sandbox runs on this machine, so requests to it bypass any proxy.
    proxies = configuration.purpose == .sandbox ? .direct : nil
    let (log, metrics, clock) = (surroundings.log, surroundings.metrics, surroundings.clock)
    do {
      transport = try CurlTransport(TransportSettings(authorities: authorities, proxies: proxies))
      callbacks = try CurlTransport(.callbacks(authorities, proxies: proxies))
      tokens = TokenSource(
        issuer: try TalkdeskID(configuration.talkdesk.upstream, transport: transport, clock: clock),
        policy: TokenPolicy(configuration.tokens), time: clock,
        observer: TokenWatch(log: log, metrics: metrics, clock: clock))
    } catch {
      throw .upstream("\(error)")
    }
  }

  /// A transport for APNs; nil if it cannot be created. The others have the same settings, so only a lack of
  /// memory or descriptors can cause that.
  func apns() -> CurlTransport? { try? CurlTransport(.apns(authorities, proxies: proxies)) }
}
