// Counts and logs the TLS handshakes of the public listener.

package import HTTPServer
import Metrics
import Platform
package import Records
package import TLS

extension TLSListener {
  /// Makes the TLS session of each connection and counts its handshake. At `debug`, logs why a handshake or,
  /// after it, a session failed: for example, the client is too old or does not trust the certificate. At
  /// other levels, every port scan would write a line.
  package func filter(log: Log, metrics: ServiceMetrics) -> Server.Filter {
    { [self] peer in
      session { event in
        let reason: String
        switch event {
        case .established:
          metrics.tlsHandshakes.count("ok")
          return
        case .abandoned: reason = "the client closed the connection or was too slow during the handshake"
        case .refused(let failure), .broken(let failure): reason = "\(failure)"
        }
        if case .broken = event {} else { metrics.tlsHandshakes.count("failed") }
        log.write(.debug, "a TLS connection failed", ["address": "\(peer.address)", "reason": reason])
      }
    }
  }
}
