// The metric that tells when the public listener's certificate expires.

package import Metrics
package import TLS

extension TLSListener {
  /// Writes when the first certificate of the chain that is shown now ends: clients refuse the chain from then on.
  package func appendExpiry(to text: inout MetricsText) {
    text.family(
      "callgate_tls_certificate_expiry_timestamp_seconds", .gauge,
      "When the first certificate of the current chain expires.")
    text.sample(Int(identity.end))
  }
}
