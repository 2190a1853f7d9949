// Tests of when connections are reused and when a request is repeated.

import HTTP
import Testing
import Upstream

/// Which connection carries a request, and that libcurl's own repetition never makes two requests of a POST.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ReuseTests {
  private let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  /// Answers the first request on a connection, reads the second, and closes without answering it.
  private let closesSecond: Script = Script { connection in
    guard try connection.readRequest() != nil else { return }
    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    _ = try connection.readRequest()
  }

  @Test func `requests one after the other share a connection`() async throws {
    try await withUpstream(Script { [ok] in try $0.answerAll(ok) }) { upstream in
      try await withTransport { transport in
        for _ in 1...20 {
          _ = try await transport.send(.post("http://127.0.0.1:\(upstream.port)/", reuse: .allowed))
        }
        #expect(upstream.connections == 1)
        #expect(upstream.arrivals == 20)
      }
    }
  }

  @Test func `reuse never takes a connection of its own and leaves none behind`() async throws {
    try await withUpstream(Script { [ok] in try $0.answerAll(ok) }) { upstream in
      try await withTransport { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        _ = try await transport.send(.post(url, reuse: .allowed))
        for _ in 1...3 { _ = try await transport.send(.post(url, reuse: .never)) }
        #expect(upstream.connections == 4)
        _ = try await transport.send(.post(url, reuse: .allowed))
        #expect(upstream.connections == 4, "the pooled connection was lost, or a fresh one was pooled")
      }
    }
  }

  @Test func `with reuse never a request whose connection dies unanswered arrives once`() async throws {
    try await withUpstream(closesSecond) { upstream in
      try await withTransport { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        _ = try await transport.send(.post(url, reuse: .allowed))
        // A pooled connection exists, but a new one carries this request.
        _ = try await transport.send(.post(url, reuse: .never))
        #expect(upstream.arrivals == 2)
      }
    }
    try await withUpstream(Script { _ = try $0.readRequest() }) { upstream in
      try await withTransport { transport in
        let error = await transport.failure(.post("http://127.0.0.1:\(upstream.port)/", reuse: .never))
        expect(error, .connectionLost, sent: true)
        #expect(upstream.arrivals == 1)
      }
    }
  }

  @Test func `a POST whose pooled connection dies unanswered arrives once too and may have been sent`()
    async throws
  {
    try await withUpstream(closesSecond) { upstream in
      try await withTransport { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        _ = try await transport.send(.post(url, reuse: .allowed))
        expect(await transport.failure(.post(url, reuse: .allowed)), .connectionLost, sent: true)
        #expect(upstream.arrivals == 2, "libcurl repeated a POST")
      }
    }
  }

  @Test func `a GET whose pooled connection dies unanswered is repeated once on a new one`() async throws {
    try await withUpstream(closesSecond) { upstream in
      try await withTransport { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        _ = try await transport.send(.get(url))
        let answer = try await transport.send(.get(url))
        #expect(answer.status == 200)
        #expect(upstream.arrivals == 3)
        #expect(upstream.connections == 2)
      }
    }
  }

  @Test func `a POST that only reads is repeated once, too`() async throws {
    try await withUpstream(closesSecond) { upstream in
      try await withTransport { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        for _ in 1...3 {
          let answer = try await transport.send(.post(url, reuse: .allowedAndRepeatable))
          #expect(answer.status == 200)
        }
        #expect(upstream.arrivals == 5, "the second and the third were asked twice")
        #expect(upstream.connections == 3)
      }
    }
    try await withUpstream(Script { _ = try $0.readRequest() }) { upstream in
      try await withTransport { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        expect(
          await transport.failure(.post(url, reuse: .allowedAndRepeatable)), .connectionLost, sent: true)
        #expect(upstream.arrivals == 1, "a connection of its own died, which no repetition mends")
      }
    }
  }

  @Test func `a connection that the upstream closed while idle is not used again`() async throws {
    try await withUpstream(
      Script { connection in
        guard try connection.readRequest() != nil else { return }
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    ) { upstream in
      try await withTransport { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        for count in 1...10 {
          _ = try await transport.send(.post(url, reuse: .allowed))
          try await upstream.waitForEnds(count)
        }
        #expect(upstream.arrivals == 10)
      }
    }
  }

  @Test func `a connection whose answer was given up is not used again`() async throws {
    try await withUpstream(
      Script { connection in
        while try connection.readRequest() != nil {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nHTTP/1.1 500 Wrong\r\n")
        }
      }
    ) { upstream in
      try await withTransport { transport in
        var request = OutboundRequest.get("http://127.0.0.1:\(upstream.port)/")
        request.maximumContentLength = 10
        expect(await transport.failure(request), .responseTooLarge, sent: true)
        request.maximumContentLength = 100
        let answer = try await transport.send(request)
        #expect(answer.status == 200)
        #expect(upstream.connections == 2)
      }
    }
  }
}
