// Tests of the transport when more requests arrive than the upstream can serve.

import CCurl
import HTTP
import Synchronization
import Testing

@testable import Upstream

/// More requests than the upstream can serve: those that are sent succeed, and the others are refused at
/// once.
@Suite(.serialized, .timeLimit(.minutes(5))) struct OverloadTests {
  private struct Counts {
    var answered = 0
    var overloaded = 0
    var others: [String] = []
  }

  private final class Tally: Sendable {
    let counts = Mutex(Counts())

    func note(_ result: Result<InboundResponse, TransportError>) {
      counts.withLock { counts in
        switch result {
        case .success: counts.answered += 1
        case .failure(let error) where error.reason == .overloaded:
          counts.overloaded += 1
          if error.sent || error.retryAfter.map({ $0 < .seconds(1) }) ?? true {
            counts.others.append("overloaded, but \(error)")
          }
        case .failure(let error): counts.others.append("\(error)")
        }
      }
    }
  }

  /// Offers requests with a timeout of 1 s at a steady rate to an upstream that takes 400 ms, for 5 s.
  private func offer(_ multiple: Double, places: Int = 8) async throws -> (last: Counts, connections: Int) {
    let script = Script { connection in
      while try connection.readRequest() != nil {
        connection.pause(milliseconds: 400)
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    }
    return try await withUpstream(script) { upstream in
      try await withTransport(TransportSettings(proxies: .direct, transfersPerPath: places)) { transport in
        let tally = Tally()
        let request = OutboundRequest.post(
          "http://127.0.0.1:\(upstream.port)/", reuse: .allowed, timeout: .seconds(1))
        let rate = Double(places) / 0.4 * multiple
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<Int(5 * rate) {
            try await Task.sleep(until: start + .seconds(Double(number) / rate))
            group.addTask {
              let result: Result<InboundResponse, TransportError>
              do throws(TransportError) {
                result = .success(try await transport.send(request))
              } catch {
                result = .failure(error)
              }
              // The first second does not count, while the transport measures the upstream.
              if Double(number) >= rate { tally.note(result) }
            }
          }
          try await group.waitForAll()
        }
        return (tally.counts.withLock { $0 }, upstream.connections)
      }
    }
  }

  @Test(arguments: [1.25, 2]) func `what an upstream can serve, it serves, however much more is asked for`(
    multiple: Double
  ) async throws {
    var (last, connections) = try await offer(multiple)
    #expect(last.overloaded > 0)
    // A busy machine delays some requests. A transport that lets requests wait for nothing fails every time.
    for _ in 0..<3 where !Self.isServed(last) { (last, connections) = try await offer(multiple) }
    #expect(
      Self.isServed(last), "\(last.answered) answered, \(last.others.count) others: \(last.others.prefix(3))")
    #expect(connections <= 8, "what is refused costs no connection")
  }

  /// Whether the upstream answered nearly as many requests as it can, and all others were refused at once.
  /// Eight places and 0.4 s make 20 a second, for four seconds.
  private static func isServed(_ counts: Counts) -> Bool { counts.answered >= 64 && counts.others.isEmpty }

  @Test func `the process goes on when libcurl runs out of memory, and ends on a mistake`() {
    for code in [CURLM_OK, CURLM_OUT_OF_MEMORY, CURLM_INTERNAL_ERROR, CURLM_UNRECOVERABLE_POLL] {
      #expect(!CurlMulti.isMisuse(code))
    }
    for code in [CURLM_BAD_HANDLE, CURLM_BAD_EASY_HANDLE, CURLM_RECURSIVE_API_CALL] {
      #expect(CurlMulti.isMisuse(code))
    }
  }
}
