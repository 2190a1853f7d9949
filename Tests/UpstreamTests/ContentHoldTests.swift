// Tests of a response whose reader pauses it.

import HTTP
import Synchronization
import TestSupport
import Testing

@testable import Upstream

@Suite(.serialized, .timeLimit(.minutes(2))) struct ContentHoldTests {
  private static let size = 8 << 20
  private static let script = Script { connection in
    while let request = try connection.readRequest() {
      let length = request.requestLine.contains("/large") ? ContentHoldTests.size : 0
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
      let piece = String(repeating: "x", count: 64 * 1024)
      for _ in 0..<(length / piece.utf8.count) { try connection.write(piece) }
    }
  }

  private static func request(_ port: Int, _ hold: ContentHold, _ take: @escaping @Sendable ([UInt8]) -> Bool)
    -> OutboundRequest
  {
    var request = OutboundRequest(
      method: .get, url: "http://127.0.0.1:\(port)/large", timeout: .seconds(60))
    request.onContent = take
    request.hold = hold
    return request
  }

  @Test func `a reader that is slower than the network is waited for, and others are not`() async throws {
    try await withUpstream(Self.script) { upstream in
      try await withTransport { transport in
        let hold = ContentHold()
        let taken = Mutex((octets: 0, holds: 0))
        let request = Self.request(Int(upstream.port), hold) { bytes in
          taken.withLock { taken in
            taken.octets += bytes.count
            // Pauses at each MiB, at most seven times.
            guard taken.octets > (taken.holds + 1) << 20, taken.holds < 7 else { return }
            taken.holds += 1
            hold.hold()
          }
          return true
        }
        async let response = transport.send(request)
        for count in 1...7 {
          try await eventually { hold.isHeld }
          let before = taken.withLock { $0 }
          #expect(before.holds == count && before.octets < (count + 1) << 20)
          for _ in 0..<5 {
            _ = try await transport.send(.get("http://127.0.0.1:\(upstream.port)/"))
          }
          #expect(taken.withLock { $0.octets } == before.octets, "it goes on while it is held up")
          hold.release()
        }
        #expect(try await response.status == 200)
        #expect(taken.withLock { $0.octets } == Self.size)
      }
    }
  }

  @Test func `a reader may refuse the rest after a pause, and a pause can be cancelled`() async throws {
    try await withUpstream(Self.script) { upstream in
      try await withTransport { transport in
        let hold = ContentHold()
        let refuses = Mutex(false)
        let request = Self.request(Int(upstream.port), hold) { _ in
          hold.hold()
          return !refuses.withLock { $0 }
        }
        async let failure = transport.failure(request)
        try await eventually { hold.isHeld }
        refuses.withLock { $0 = true }
        hold.release()
        #expect(await failure?.reason == .responseTooLarge)
        refuses.withLock { $0 = false }
        hold.release()
        let task = Task { await transport.failure(request) }
        try await eventually { hold.isHeld }
        task.cancel()
        #expect(await task.value?.reason == .cancelled)
        // Releasing is harmless although the transfer is gone.
        hold.release()
      }
    }
  }
}
