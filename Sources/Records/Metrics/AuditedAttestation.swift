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

  /// Every one, by type, in the order of the counters.
  static let all = AttestationType.allCases.map { type in
    AttestationResult.all(of: type).map { AuditedAttestation(type: type, result: $0) }
  }

  /// The index of its type, and its own among those of the type.
  var number: (type: Int, result: Int) {
    guard let type = AttestationType.allCases.firstIndex(of: type),
      let result = Self.all[type].firstIndex(of: self)
    else { preconditionFailure("a fault of another type of attestation: \(self)") }
    return (type, result)
  }
}
