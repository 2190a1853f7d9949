// Tests of the requests that the transport sends, and of how it reads good responses.

import Glibc
import HTTP
import Testing
import Upstream

/// The requests that a transport sends, and how it reads good responses.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AnswerTests {
  @Test func `an answer's status, fields and content come back`() async throws {
    try await withUpstream(
      Script { connection in
        try connection.answerAll(
          "HTTP/1.1 201 Created\r\nX-A: 1\r\nx-a:  2 \r\nContent-Length: 5\r\n\r\nhello")
      }
    ) { upstream in
      try await withTransport { transport in
        let response = try await transport.send(.get("http://127.0.0.1:\(upstream.port)/a?b=c"))
        #expect(response.status == 201)
        #expect(response.fields.values(of: "X-A") == ["1", "2"])
        #expect(response.text == "hello")
        #expect(upstream.heads.first?.hasPrefix("GET /a?b=c HTTP/1.1\r\n") == true)
      }
    }
  }

  @Test func `an answer says how long each step took`() async throws {
    try await withUpstream(
      Script { connection in
        _ = try connection.readRequest()
        usleep(60_000)
        try connection.write("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{")
        usleep(40_000)
        if connection.index == 1 { try connection.write("}") }
      }
    ) { upstream in
      try await withTransport { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        let timing = try #require(try await transport.send(.post(url)).timing)
        #expect(timing.firstByte >= .milliseconds(60))
        #expect(timing.handshake == .zero, "plain http")
        #expect(timing.connecting < .seconds(10) && timing.nameResolution < .seconds(10))
        // The timing is also known if only the head arrives completely.
        let error = await transport.failure(.post(url))
        #expect(try #require(error?.head?.timing).firstByte >= .milliseconds(60))
      }
    }
  }

  @Test func `a POST arrives with its fields, its content and nothing libcurl would add`() async throws {
    try await withUpstream(
      Script { connection in
        while let request = try connection.readRequest() {
          let answer =
            "\(request.requestLine)|\(request.fieldNames)|\(request.field("Host") ?? "")|"
            + "\(request.field("X-Empty") ?? "none")|\(String(decoding: request.content, as: UTF8.self))"
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)")
        }
      }
    ) { upstream in
      try await withTransport { transport in
        let response = try await transport.send(
          OutboundRequest(
            method: .post, url: "http://localhost:\(upstream.port)/x",
            fields: ["Authorization": "Bearer t", "X-Empty": ""], content: Array("{\"a\":1}".utf8),
            timeout: .seconds(20)))
        #expect(
          response.text
            == "POST /x HTTP/1.1|[\"accept-encoding\", \"authorization\", \"content-length\", \"host\", \"user-agent\", \"x-empty\"]|"
            + "localhost:\(upstream.port)||{\"a\":1}")
      }
    }
  }

  @Test func `a large POST is sent at once, without waiting for a 100`() async throws {
    let content = String(repeating: "x", count: 2_000_000)
    try await withUpstream(
      Script { connection in
        while let request = try connection.readRequest() {
          let answer = "\(request.content.count) \(request.field("Expect") ?? "none")"
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)")
        }
      }
    ) { upstream in
      try await withTransport { transport in
        let response = try await transport.send(.post("http://127.0.0.1:\(upstream.port)/", content))
        #expect(response.text == "2000000 none")
      }
    }
  }

  @Test func `an empty POST says Content-Length 0`() async throws {
    try await withUpstream(Script { try $0.answerAll("HTTP/1.1 204 No Content\r\n\r\n") }) { upstream in
      try await withTransport { transport in
        let response = try await transport.send(.post("http://127.0.0.1:\(upstream.port)/", ""))
        #expect(response.status == 204)
        #expect(response.content.isEmpty)
        #expect(upstream.heads.first?.contains("Content-Length: 0\r\n") == true)
      }
    }
  }

  @Test func `HEAD takes the fields and no content`() async throws {
    try await withUpstream(Script { try $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n") })
    { upstream in
      try await withTransport { transport in
        let response = try await transport.send(
          OutboundRequest(method: .head, url: "http://127.0.0.1:\(upstream.port)/", timeout: .seconds(20)))
        #expect(response.status == 200)
        #expect(response.fields["content-length"] == "99999999")
        #expect(response.content.isEmpty)
      }
    }
  }

  @Test(arguments: [
    ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok"),
    ("HTTP/1.1 103 Early Hints\r\nX-A: early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok"),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-A: trailer\r\n\r\n",
      "abcde"
    ),
    ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", "until the end"),
    ("HTTP/1.0 200 OK\r\n\r\nold", "old"),
    ("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "ok"),
    ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\nno", "no"),
    ("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno", "no"),
    ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nSet-Cookie: a=b\r\nContent-Length: 3\r\n\r\nraw", "raw"),
    ("HTTP/1.1 599 Odd\r\nContent-Length: 0\r\n\r\n", ""),
  ])
  func `the final answer is taken as it is`(answer: String, content: String) async throws {
    try await withUpstream(
      Script { connection in
        guard try connection.readRequest() != nil else { return }
        try connection.write(answer)
      }
    ) { upstream in
      try await withTransport { transport in
        let response = try await transport.send(.get("http://127.0.0.1:\(upstream.port)/"))
        #expect(response.text == content)
        #expect(response.fields["X-A"] == nil, "a field of an interim response or a trailer was taken")
        #expect(upstream.arrivals == 1)
      }
    }
  }

  @Test func `cookies of one answer are not sent with the next request`() async throws {
    try await withUpstream(
      Script { connection in
        try connection.answerAll("HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n")
      }
    ) { upstream in
      try await withTransport { transport in
        for _ in 1...2 { _ = try await transport.send(.get("http://127.0.0.1:\(upstream.port)/")) }
        #expect(upstream.arrivals == 2)
        #expect(!upstream.heads.contains { $0.lowercased().contains("cookie") })
      }
    }
  }

  @Test func `200 sends at once all get their own answer`() async throws {
    try await withUpstream(
      Script { connection in
        while let request = try connection.readRequest() {
          let answer = request.requestLine
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)")
        }
      }
    ) { upstream in
      try await withTransport { transport in
        let wrong = await withTaskGroup(of: Bool.self) { group in
          for number in 0..<200 {
            group.addTask {
              do {
                let response = try await transport.send(.get("http://127.0.0.1:\(upstream.port)/?\(number)"))
                return response.text != "GET /?\(number) HTTP/1.1"
              } catch { return true }
            }
          }
          return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wrong == 0)
        #expect(upstream.arrivals == 200)
        #expect(upstream.connections <= 64, "more connections than transfersPerPath")
      }
    }
  }
}
