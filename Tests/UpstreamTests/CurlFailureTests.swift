// Tests of how libcurl's error codes are translated into reasons.

import CCurl
import HTTP
import Testing

@testable import Upstream

/// The table of codes, for failures that tests cannot cause. Other tests check the codes by real failures.
@Suite struct CurlFailureTests {
  @Test
  func `no code that libcurl has or will have means something else before and after sending than it can`() {
    let beforeSending: Set<TransportError.Reason> = [.invalidURL, .nameResolution, .connect, .tls]
    let afterSending: Set<TransportError.Reason> = [
      .invalidURL, .nameResolution, .connect, .tls, .timedOut, .connectionLost, .malformedResponse,
      .responseTooLarge,
    ]
    for number in 1...150 as ClosedRange<UInt32> {
      let code = CURLcode(rawValue: number)
      for connected in [false, true] {
        #expect(
          beforeSending.contains(CurlFailure.reason(code, sent: false, connected: connected)), "\(number)")
        #expect(
          afterSending.contains(CurlFailure.reason(code, sent: true, connected: connected)), "\(number)")
      }
    }
  }

  @Test(arguments: [
    (CURLE_COULDNT_RESOLVE_HOST, TransportError.Reason.nameResolution),
    (CURLE_COULDNT_RESOLVE_PROXY, .nameResolution),
    (CURLE_COULDNT_CONNECT, .connect), (CURLE_RECV_ERROR, .connect), (CURLE_PEER_FAILED_VERIFICATION, .tls),
    (CURLE_SSL_CACERT_BADFILE, .tls), (CURLE_OPERATION_TIMEDOUT, .connect),
  ])
  func `before sending`(code: CURLcode, reason: TransportError.Reason) {
    #expect(CurlFailure.reason(code, sent: false, connected: false) == reason)
  }

  @Test(arguments: [
    (CURLE_RECV_ERROR, TransportError.Reason.connectionLost), (CURLE_SEND_ERROR, .connectionLost),
    (CURLE_GOT_NOTHING, .connectionLost), (CURLE_PARTIAL_FILE, .connectionLost),
    (CURLE_ABORTED_BY_CALLBACK, .connectionLost), (CURLE_WEIRD_SERVER_REPLY, .malformedResponse),
    (CURLE_UNSUPPORTED_PROTOCOL, .malformedResponse), (CURLE_FILESIZE_EXCEEDED, .responseTooLarge),
    (CURLE_OPERATION_TIMEDOUT, .timedOut), (CURLcode(rawValue: 100), .responseTooLarge),
    (CURLcode(rawValue: 149), .connectionLost),
  ])
  func `after sending`(code: CURLcode, reason: TransportError.Reason) {
    #expect(CurlFailure.reason(code, sent: true, connected: true) == reason)
  }
}
