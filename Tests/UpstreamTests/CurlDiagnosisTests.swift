// Tests of how libcurl's evidence is translated into the check that failed.

import CCurl
import Glibc
import HTTP
import Testing

@testable import Upstream

/// The table from libcurl's evidence to the failed check, for failures that tests cannot cause.
@Suite struct CurlDiagnosisTests {
  private func diagnosis(
    _ code: CURLcode, sent: Bool = false, connected: Bool = false, proxied: Bool = false,
    proxySpeaksTLS: Bool = false,
    systemError: Int32 = 0, verification: Int = 0, proxyVerification: Int = 0, tunnelStatus: Int = 0
  ) -> TransportDiagnosis? {
    CurlDiagnosis.diagnosis(
      .init(
        code: code, sent: sent, connected: connected, proxied: proxied, proxySpeaksTLS: proxySpeaksTLS,
        systemError: systemError, verification: verification, proxyVerification: proxyVerification,
        tunnelStatus: tunnelStatus))
  }

  @Test func `once something was sent there is nothing to diagnose`() {
    for number in 1...150 as ClosedRange<UInt32> {
      #expect(diagnosis(CURLcode(rawValue: number), sent: true, tunnelStatus: 403) == nil)
    }
  }

  @Test(arguments: [
    (ECONNREFUSED, TransportDiagnosis.Failure.connectionRefused), (ETIMEDOUT, .connectTimedOut),
    (ENETUNREACH, .unreachable), (EHOSTUNREACH, .unreachable), (EPERM, .unreachable), (0, .connectionBroken),
  ])
  func `a failed connection is diagnosed by its errno, and is the proxy's if there is one`(
    error: Int32, failure: TransportDiagnosis.Failure
  ) {
    #expect(diagnosis(CURLE_COULDNT_CONNECT, systemError: error) == .init(.server, failure))
    #expect(diagnosis(CURLE_COULDNT_CONNECT, proxied: true, systemError: error) == .init(.proxy, failure))
  }

  @Test func `a refused tunnel is diagnosed by its status`() {
    #expect(
      diagnosis(CURLE_RECV_ERROR, connected: true, proxied: true, tunnelStatus: 407)
        == .init(.proxy, .tunnelRefused(status: 407)))
    #expect(diagnosis(CURLE_RECV_ERROR, connected: true, proxied: true) == .init(.proxy, .connectionBroken))
    #expect(
      diagnosis(CURLE_RECV_ERROR, connected: true, proxied: true, tunnelStatus: 200)
        == .init(.server, .connectionBroken))
    #expect(diagnosis(CURLE_PROXY, connected: true, proxied: true) == .init(.proxy, .tunnelFailed))
  }

  @Test func `a certificate is the server's, unless the way to a proxy over TLS is not yet open`() {
    #expect(
      diagnosis(CURLE_PEER_FAILED_VERIFICATION, verification: 10) == .init(.server, .certificate(.expired)))
    #expect(
      diagnosis(
        CURLE_PEER_FAILED_VERIFICATION, proxied: true, proxySpeaksTLS: true, verification: 1,
        proxyVerification: 18) == .init(.proxy, .certificate(.selfSigned)))
    #expect(
      diagnosis(
        CURLE_PEER_FAILED_VERIFICATION, proxied: true, proxySpeaksTLS: true, verification: 20,
        tunnelStatus: 200)
        == .init(.server, .certificate(.unknownIssuer)))
    #expect(diagnosis(CURLE_SSL_CONNECT_ERROR) == .init(.server, .handshake))
  }

  @Test func `a time-out is diagnosed by its phase`() {
    #expect(diagnosis(CURLE_OPERATION_TIMEDOUT) == .init(.server, .connectTimedOut))
    #expect(diagnosis(CURLE_OPERATION_TIMEDOUT, connected: true) == .init(.server, .handshakeTimedOut))
    #expect(
      diagnosis(CURLE_OPERATION_TIMEDOUT, connected: true, proxied: true) == .init(.proxy, .connectTimedOut))
    #expect(
      diagnosis(CURLE_OPERATION_TIMEDOUT, connected: true, proxied: true, tunnelStatus: 200)
        == .init(.server, .handshakeTimedOut))
  }

  @Test(arguments: [
    (0, CertificateFailure.wrongName), (1, .wrongName), (62, .wrongName), (9, .notYetValid), (10, .expired),
    (18, .selfSigned), (19, .unknownIssuer), (20, .unknownIssuer), (21, .unknownIssuer), (23, .revoked),
    (66, .weak),
    (68, .weak), (26, .other(code: 26)),
  ])
  func `OpenSSL's results have names`(result: Int, failure: CertificateFailure) {
    #expect(CurlDiagnosis.certificate(result) == failure)
  }
}
