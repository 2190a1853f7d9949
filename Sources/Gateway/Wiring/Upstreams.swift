// The connections of a server to other services.

import Configuration
import Serving
import Talkdesk
import Tokens
import Upstream

/// The connections of a server to other services. They outlive a configuration.
struct Upstreams: Sendable {
  /// For everything that has none of its own.
  let transport: CurlTransport
  /// For the Callback API: its own, so that a crowd of callbacks takes nothing from exchanges.
  let callbacks: CurlTransport
  /// The source of Talkdesk tokens.
  let tokens: TokenSource
  private let authorities: Authorities?
  private let proxies: ProxySettings?

  /// Makes them. They send nothing yet.
  init(_ configuration: Configuration, _ surroundings: Surroundings) throws(StartError) {
    authorities = configuration.authorities
    // The sandbox is on this machine, whatever proxy leads out of it.
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

  /// A connection for APNs. The others have the same settings, so only a lack of memory or descriptors stops this one.
  func apns() -> CurlTransport? { try? CurlTransport(.apns(authorities, proxies: proxies)) }
}
