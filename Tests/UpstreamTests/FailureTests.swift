// Tests of how the transport reports broken and hostile responses.

import HTTP
import Testing
import Upstream

/// How broken and hostile responses are reported: the reason, and whether the request may have arrived.
@Suite(.serialized, .timeLimit(.minutes(5))) struct FailureTests {
  /// The error for an upstream that reads the request, sends `answer` and closes.
  private func failure(
    after answer: String, method: Method = .get, limit: Int = 256 * 1024
  ) async throws -> TransportError? {
    try await withUpstream(
      Script { connection in
        guard try connection.readRequest() != nil else { return }
        try connection.write(answer)
      }
    ) { upstream in
      try await withTransport { transport in
        let error = await transport.failure(
          OutboundRequest(
            method: method, url: "http://127.0.0.1:\(upstream.port)/", timeout: .seconds(20),
            maximumContentLength: limit, reuse: .never))
        #expect(upstream.arrivals == 1)
        return error
      }
    }
  }

  @Test(arguments: [
    "220 smtp.example ESMTP\r\n",
    "garbage\r\n\r\n",
    "{\"access_token\":\"x\"}",
    "HTTP/2 200\r\n\r\n",
    "HTTP/1.1 OK\r\n\r\n",
    "HTTP/1.1 20\r\n\r\n",
    "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 600 High\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nNo colon\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nName : x\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: x\r\n folded\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: x\ry\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: x\u{0}y\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
  ])
  func `an answer that is not HTTP is refused`(answer: String) async throws {
    expect(try await failure(after: answer), .malformedResponse, sent: true)
  }

  @Test(arguments: [
    "",
    "HTTP/1.1 200 OK\r\nContent-Le",
    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\nX: y\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
    // A malformed chunk and a reset have the same code in libcurl.
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
  ])
  func `an answer cut short is a lost connection`(answer: String) async throws {
    expect(try await failure(after: answer), .connectionLost, sent: true)
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world",
    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello world",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n",
  ])
  func `content at the limit is taken and one octet more is not`(answer: String) async throws {
    expect(try await failure(after: answer, limit: 10), .responseTooLarge, sent: true)
    try await withUpstream(
      Script { connection in
        guard try connection.readRequest() != nil else { return }
        try connection.write(answer)
      }
    ) { upstream in
      try await withTransport { transport in
        var request = OutboundRequest.get("http://127.0.0.1:\(upstream.port)/")
        request.maximumContentLength = 11
        let answer = try await transport.send(request)
        #expect(answer.text == "hello world")
      }
    }
  }

  @Test func `a declared length over the limit ends the transfer before any content`() async throws {
    try await withUpstream(
      Script { connection in
        guard try connection.readRequest() != nil else { return }
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10485760\r\n\r\n")
        try connection.waitForClose()
      }
    ) { upstream in
      try await withTransport { transport in
        expect(
          await transport.failure(.get("http://127.0.0.1:\(upstream.port)/")), .responseTooLarge, sent: true)
      }
    }
  }

  @Test func `endless content ends at the limit`() async throws {
    try await withUpstream(
      Script { connection in
        guard try connection.readRequest() != nil else { return }
        try connection.write("HTTP/1.1 200 OK\r\n\r\n")
        while true { try connection.write([UInt8](repeating: 0x78, count: 65536)) }
      }
    ) { upstream in
      try await withTransport { transport in
        expect(
          await transport.failure(.get("http://127.0.0.1:\(upstream.port)/")), .responseTooLarge, sent: true)
      }
    }
  }

  @Test
  func `fields over the limit end the transfer, in lines, in one line, in interim answers and trailers`()
    async throws
  {
    let field = "A: " + String(repeating: "x", count: 1000) + "\r\n"
    let many = String(repeating: field, count: 33)
    let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\(field)\r\n", count: 33)
    let trailers = "Transfer-Encoding: chunked\r\n\r\n0\r\n"
    for answer in [
      "HTTP/1.1 200 OK\r\n\(many)Content-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: \(String(repeating: "x", count: 33_000))\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: \(String(repeating: "x", count: 300_000))",
      "\(interim)HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\(trailers)\(many)\r\n",
    ] {
      expect(try await failure(after: answer), .responseTooLarge, sent: true)
    }
  }

  @Test func `a port without a listener is a failed connection, nothing sent`() async throws {
    let port = try await withUpstream(Script { _ in }) { $0.port }
    try await withTransport { transport in
      expect(await transport.failure(.post("http://127.0.0.1:\(port)/")), .connect, sent: false)
    }
  }

  @Test func `a reset after the request is a lost connection that may have arrived`() async throws {
    try await withUpstream(
      Script { connection in
        _ = try connection.readRequest()
        connection.reset()
      }
    ) { upstream in
      try await withTransport { transport in
        expect(
          await transport.failure(.post("http://127.0.0.1:\(upstream.port)/")), .connectionLost, sent: true)
        #expect(upstream.arrivals == 1)
      }
    }
  }

  @Test func `a close before the request was read counts as sent, because that is not certain`() async throws
  {
    try await withUpstream(Script { $0.reset() }) { upstream in
      try await withTransport { transport in
        let content = String(repeating: "x", count: 1_000_000)
        let error = await transport.failure(.post("http://127.0.0.1:\(upstream.port)/", content))
        // The reset may even come before libcurl sees the connection as established.
        if error?.sent == true {
          expect(error, .connectionLost, sent: true)
        } else {
          expect(error, .connect, sent: false)
        }
      }
    }
  }

  @Test(arguments: [
    "", "localhost", "ftp://127.0.0.1/", "http://example.com/", "http://10.0.0.1/", "https://user@127.0.0.1/",
    "https://127.1/", "http://127.0.0.1:0/",
  ])
  func `a URL that is not allowed is refused before anything happens`(url: String) async throws {
    try await withTransport { transport in
      expect(await transport.failure(.get(url)), .invalidURL, sent: false)
    }
  }

  @Test func `a field that could end its line early, and one the transport writes, are refused`() async throws
  {
    try await withTransport { transport in
      for fields in [
        ["A": "x\r\nB: y"], ["A b": "x"], ["Host": "other"], ["Content-Length": "1"], ["A": "\u{0}"],
      ] as [Fields] {
        let request = OutboundRequest(
          method: .get, url: "http://127.0.0.1:1/", fields: fields, timeout: .seconds(5))
        expect(await transport.failure(request), .invalidURL, sent: false)
      }
    }
  }

  @Test func `a name under invalid fails quickly and by name`() async throws {
    try await withTransport { transport in
      let start = ContinuousClock.now
      let error = await transport.failure(.post("https://upstream.invalid/", timeout: .seconds(5)))
      expect(error, .nameResolution, sent: false)
      #expect(ContinuousClock.now - start < .seconds(5))
    }
  }
}
