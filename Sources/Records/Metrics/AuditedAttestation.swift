// The result of a request's attestation, as audit lines and metrics show it.

package import Trust

/// The type and result of a request's attestation.
package struct AuditedAttestation: Hashable, Sendable {
  package let type: AttestationType
  package let result: AttestationResult

  package init(type: AttestationType, result: AttestationResult) {
    self.type = type
    self.result = result
  }
}
