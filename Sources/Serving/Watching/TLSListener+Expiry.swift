// The metric that tells when the public listener's certificate expires.

package import Metrics
package import TLS

extension TLSListener {
  /// Writes the earliest expiry of the current chain's certificates. From then on, clients refuse the chain.
  package func appendExpiry(to text: inout MetricsText) {
    text.family(
      "callgate_tls_certificate_expiry_timestamp_seconds", .gauge,
      "When the first certificate of the current chain expires.")
    text.sample(Int(identity.end))
  }
}
