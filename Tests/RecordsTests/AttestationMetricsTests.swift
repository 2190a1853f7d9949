// Tests of how the results for attestations and proofs are counted.

import Metrics
import Testing
import Trust

@testable import Records

@Suite struct AttestationMetricsTests {
  @Test func `each result of each type has a count of its own`() {
    let metrics = ServiceMetrics(loops: 1, routes: ["other"], audited: [])
    let every = AttestationType.allCases.flatMap { type in
      AttestationResult.every.map { AuditedAttestation(type: type, result: $0) }
    }
    for (number, attestation) in every.enumerated() {
      for _ in 0...number { metrics.attested(attestation, lane: number) }
    }
    for (number, attestation) in every.enumerated() {
      #expect(metrics.count(of: attestation) == number + 1, "\(attestation)")
    }
  }

  @Test func `a type shows its own results from the start, and another one where it was counted`() {
    let metrics = ServiceMetrics(loops: 1, routes: ["other"], audited: [])
    func shown(_ words: String) -> Bool {
      var text = MetricsText()
      metrics.appendAttestations(to: &text)
      return String(decoding: text.bytes, as: UTF8.self).contains(words)
    }
    let usual = #"{type="play_integrity",result="failed",reason="weak_device"} "#
    let other = #"{type="play_integrity",result="failed",reason="replayed"} "#
    #expect(shown(usual + "0") && !shown(other))
    metrics.attested(AuditedAttestation(type: .playIntegrity, result: .failed(.replayed)), lane: 0)
    #expect(shown(usual + "0") && shown(other + "1"))
  }

  @Test func `the share that enforce would refuse`() {
    let metrics = ServiceMetrics(loops: 1, routes: ["other"], audited: [])
    #expect(metrics.trust.isEmpty)
    for result in [AttestationResult.passed, .passed, .missing, .failed(.expired), .unavailable(.keys)] {
      metrics.attested(AuditedAttestation(type: .appCheck, result: result), lane: 0)
    }
    metrics.attested(AuditedAttestation(type: .appAttest, result: .passed), lane: 0)
    // A proof without a fresh nonce does not count: the client gets a nonce and sends another proof, which
    // does.
    for result in [ProofResult.passed, .keyless, .failed(.replayed), .failed(.noNonce), .failed(.wrongNonce)]
    {
      metrics.proved(result, lane: 0)
    }
    #expect(metrics.trust.map(\.kind) == ["app_check", "app_attest", "key"])
    #expect(metrics.trust.map(\.judged) == [5, 1, 3])
    #expect(metrics.trust.map(\.failed) == [3, 0, 2])
  }
}
