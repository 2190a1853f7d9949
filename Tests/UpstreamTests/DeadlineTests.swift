// Tests that every request ends by its deadline, whatever the upstream does.

import HTTP
import Synchronization
import TestSupport
import Testing
import Upstream

/// Timeouts, cancelled tasks and transports that shut down: every caller gets exactly one answer, in time.
@Suite(.serialized, .timeLimit(.minutes(5))) struct DeadlineTests {
  /// How much later than its deadline an answer may come on a busy machine.
  private let slack = Duration.seconds(5)

  private func expectTimeout(
    _ transport: CurlTransport, _ url: String, timeout: Duration = .milliseconds(300), sent: Bool,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let start = ContinuousClock.now
    let error = await transport.failure(.post(url, timeout: timeout), sourceLocation: sourceLocation)
    let elapsed = ContinuousClock.now - start
    expect(error, .timedOut, sent: sent, sourceLocation: sourceLocation)
    #expect(elapsed >= timeout && elapsed < timeout + slack, sourceLocation: sourceLocation)
  }

  @Test func `an upstream that hangs is given up at the deadline`() async throws {
    try await withUpstream(Script { try $0.waitForClose() }) { upstream in
      try await withTransport { transport in
        await expectTimeout(transport, "http://127.0.0.1:\(upstream.port)/", sent: true)
      }
    }
  }

  @Test func `an upstream that drips is given up at the deadline, although it is never idle`() async throws {
    try await withUpstream(
      Script { connection in
        _ = try connection.readRequest()
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while true {
          try connection.write("x")
          connection.pause(milliseconds: 20)
        }
      }
    ) { upstream in
      try await withTransport { transport in
        await expectTimeout(transport, "http://127.0.0.1:\(upstream.port)/", sent: true)
      }
    }
  }

  @Test func `an upstream that does not read is given up at the deadline`() async throws {
    try await withUpstream(Script { try $0.waitForOther() }) { upstream in
      try await withTransport { transport in
        // More than the socket buffers on both sides can hold.
        let content = [UInt8](repeating: 0x78, count: 16_000_000)
        let start = ContinuousClock.now
        let error = await transport.failure(
          OutboundRequest(
            method: .post, url: "http://127.0.0.1:\(upstream.port)/", content: content, timeout: .seconds(1)))
        expect(error, .timedOut, sent: true)
        #expect(ContinuousClock.now - start < .seconds(1) + slack)
      }
    }
  }

  @Test func `a TLS handshake that hangs ends at the deadline, nothing sent`() async throws {
    try await withUpstream(Script { try $0.waitForClose() }) { upstream in
      try await withTransport { transport in
        await expectTimeout(transport, "https://127.0.0.1:\(upstream.port)/", sent: false)
      }
    }
  }

  @Test func `a TLS handshake that hangs ends at the connect timeout if that is sooner`() async throws {
    try await withUpstream(Script { try $0.waitForClose() }) { upstream in
      try await withTransport(TransportSettings(connectTimeout: .milliseconds(300))) { transport in
        let start = ContinuousClock.now
        let error = await transport.failure(.post("https://127.0.0.1:\(upstream.port)/"))
        expect(error, .tls, sent: false)
        #expect(ContinuousClock.now - start >= .milliseconds(250))
        #expect(ContinuousClock.now - start < .milliseconds(300) + slack)
      }
    }
  }

  @Test func `a connection that is not accepted ends at the connect timeout`() async throws {
    let listener = try FullListener()
    try await withTransport(TransportSettings(connectTimeout: .milliseconds(300))) { transport in
      let start = ContinuousClock.now
      expect(await transport.failure(.post("http://127.0.0.1:\(listener.port)/")), .connect, sent: false)
      #expect(ContinuousClock.now - start >= .milliseconds(250))
      #expect(ContinuousClock.now - start < .milliseconds(300) + slack)
      await expectTimeout(
        transport, "https://127.0.0.1:\(listener.port)/", timeout: .milliseconds(100), sent: false)
    }
  }

  @Test func `a timeout of nothing fails at once`() async throws {
    try await withTransport { transport in
      for timeout in [Duration.zero, .seconds(-1)] {
        expect(await transport.failure(.get("http://127.0.0.1:1/", timeout: timeout)), .timedOut, sent: false)
      }
    }
  }

  @Test func `waiting for a slot counts, and a slot that is freed serves the next`() async throws {
    let settings = TransportSettings(transfersPerPath: 1)
    try await withUpstream(
      Script { connection in
        while let request = try connection.readRequest() {
          if request.requestLine.contains("?hang") { return try connection.waitForClose() }
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
      }
    ) { upstream in
      try await withTransport(settings) { transport in
        async let hanging = transport.failure(
          .post("http://127.0.0.1:\(upstream.port)/?hang", timeout: .milliseconds(900)))
        try await upstream.waitForArrivals(1)
        let error = await transport.failure(
          .post("http://127.0.0.1:\(upstream.port)/?a", timeout: .milliseconds(200)))
        expect(error, .overloaded, sent: false)
        let response = try await transport.send(.post("http://127.0.0.1:\(upstream.port)/?b"))
        #expect(response.status == 200)
        let hung = await hanging
        expect(hung, .timedOut, sent: true)
        #expect(hung?.isCurtailed == false)
        #expect(upstream.arrivals == 2, "the request that waited in vain was sent after all")
      }
    }
  }

  @Test func `a time-out after a wait differs from one that had all its time`() async throws {
    try await withUpstream(
      Script { connection in
        while try connection.readRequest() != nil {
          connection.pause(milliseconds: connection.index == 1 ? 200 : 3000)
          try connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
          return
        }
      }
    ) { upstream in
      try await withTransport(TransportSettings(proxies: .direct, transfersPerPath: 1)) { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        async let first = transport.send(.post(url))
        try await upstream.waitForArrivals(1)
        let second = await transport.failure(.post(url, timeout: .seconds(1)))
        expect(second, .timedOut, sent: true)
        #expect(second?.isCurtailed == true)
        #expect(try await first.status == 200)
      }
    }
  }

  @Test func `100 hanging calls leave another path of the same host and another host alone`() async throws {
    let script: Script = Script { connection in
      while let request = try connection.readRequest() {
        if request.requestLine.contains("/hang") { return try connection.waitForClose() }
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    }
    try await withUpstream(script) { upstream in
      try await withUpstream(script) { other in
        try await withTransport { transport in
          let hung = Task {
            await withTaskGroup(of: TransportError?.self) { group in
              for _ in 0..<100 {
                group.addTask { await transport.failure(.post("http://127.0.0.1:\(upstream.port)/hang")) }
              }
              return await group.reduce(into: []) { $0.append($1) }
            }
          }
          try await upstream.waitForArrivals(64)
          for _ in 1...20 {
            _ = try await transport.send(.post("http://127.0.0.1:\(upstream.port)/other"))
            _ = try await transport.send(.post("http://127.0.0.1:\(other.port)/other"))
          }
          #expect(upstream.arrivals == 84, "more than transfersPerPath ran at once")
          hung.cancel()
          let errors = await hung.value
          #expect(errors.someAndAll { $0?.reason == .cancelled })
          #expect(errors.count { $0?.sent == true } == 64)
        }
      }
    }
  }

  @Test func `more waiting than allowed fails at once`() async throws {
    let settings = TransportSettings(transfersPerPath: 1, waitingPerPath: 1)
    try await withUpstream(
      Script { connection in
        _ = try connection.readRequest()
        try connection.waitForClose()
      }
    ) { upstream in
      try await withTransport(settings) { transport in
        let url = "http://127.0.0.1:\(upstream.port)/"
        let errors = await withTaskGroup(of: TransportError?.self) { group in
          for _ in 1...3 { group.addTask { await transport.failure(.post(url, timeout: .seconds(1))) } }
          return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.count { $0?.reason == .overloaded && $0?.sent == false } == 2)
        #expect(errors.allSatisfy { ($0?.reason == .overloaded) == ($0?.retryAfter != nil) })
        #expect(errors.count { $0?.reason == .timedOut && $0?.sent == true } == 1)
      }
    }
  }

  @Test func `cancelling the task gives the transfer up and closes its connection`() async throws {
    let closed = Mutex(false)
    try await withUpstream(
      Script { connection in
        _ = try connection.readRequest()
        try connection.waitForClose()
        closed.withLock { $0 = true }
      }
    ) { upstream in
      try await withTransport { transport in
        let task = Task { await transport.failure(.post("http://127.0.0.1:\(upstream.port)/")) }
        try await upstream.waitForArrivals(1)
        task.cancel()
        expect(await task.value, .cancelled, sent: true)
        try await eventually { closed.withLock { $0 } }
      }
    }
  }

  @Test func `a task that is cancelled before it sends sends nothing`() async throws {
    try await withUpstream(Script { try $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }) {
      upstream in
      try await withTransport { transport in
        let task = Task {
          while !Task.isCancelled { await Task.yield() }
          return await transport.failure(.post("http://127.0.0.1:\(upstream.port)/"))
        }
        task.cancel()
        expect(await task.value, .cancelled, sent: false)
        #expect(upstream.connections == 0)
      }
    }
  }

  @Test func `cancelling at any moment answers exactly once`() async throws {
    try await withUpstream(Script { try $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }) {
      upstream in
      try await withTransport { transport in
        for round in 0..<300 {
          let task = Task {
            do throws(TransportError) {
              return try await transport.send(.post("http://127.0.0.1:\(upstream.port)/", reuse: .allowed))
                .status
            } catch {
              return error.reason == .cancelled ? 0 : -1
            }
          }
          for _ in 0..<(round % 30) { await Task.yield() }
          task.cancel()
          #expect([0, 200].contains(await task.value))
        }
      }
    }
  }

  @Test func `shutdown cancels what runs and what waits, and refuses what comes`() async throws {
    let settings = TransportSettings(transfersPerPath: 2)
    try await withUpstream(
      Script { connection in
        _ = try connection.readRequest()
        try connection.waitForClose()
      }
    ) { upstream in
      let transport = try CurlTransport(settings)
      let url = "http://127.0.0.1:\(upstream.port)/"
      async let errors = withTaskGroup(of: TransportError?.self) { group in
        for _ in 1...5 { group.addTask { await transport.failure(.post(url)) } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      try await upstream.waitForArrivals(2)
      await transport.shutdown()
      let all = await errors
      #expect(all.someAndAll { $0?.reason == .cancelled })
      #expect(all.count { $0?.sent == true } == 2)
      expect(await transport.failure(.post(url)), .cancelled, sent: false)
      await transport.shutdown()
    }
  }

  @Test func `a transport that is released ends its thread and its connections`() async throws {
    let closed = Mutex(false)
    try await withUpstream(
      Script { connection in
        try connection.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        closed.withLock { $0 = true }
      }
    ) { upstream in
      do {
        let transport = try CurlTransport()
        _ = try await transport.send(.get("http://127.0.0.1:\(upstream.port)/"))
        #expect(!closed.withLock { $0 })
      }
      try await eventually { closed.withLock { $0 } }
    }
  }
}
