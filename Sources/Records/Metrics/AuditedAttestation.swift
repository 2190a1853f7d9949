// The judged attestation of a request, as audit lines and metrics show it.

package import Trust

/// The attestation of a request.
package struct AuditedAttestation: Hashable, Sendable {
  package let type: AttestationType
  package let result: AttestationResult

  package init(type: AttestationType, result: AttestationResult) {
    self.type = type
    self.result = result
  }
}
