// Tests of the reports that the server gives about connections and responses.

import HTTP
import Platform
import Synchronization
import Testing

@testable import HTTPServer

/// An observer that records every report.
private final class Notebook: ServerObserver {
  struct Entry: Equatable {
    var method: Method
    var route: UInt8
    var status: Int
    var hasDuration: Bool
  }

  private struct State {
    var answers: [Entry] = []
    var opened = 0
    var closed = 0
    var closedForMemory: [MemoryReason] = []
  }

  private let state = Mutex(State())

  var answers: [Entry] { state.withLock { $0.answers } }
  var opened: Int { state.withLock { $0.opened } }
  var closed: Int { state.withLock { $0.closed } }
  var closedForMemory: [MemoryReason] { state.withLock { $0.closedForMemory } }

  func connectionOpened(loop: Int) { state.withLock { $0.opened += 1 } }
  func connectionClosed(loop: Int) { state.withLock { $0.closed += 1 } }
  func connectionClosed(for reason: MemoryReason, loop: Int) {
    state.withLock { $0.closedForMemory.append(reason) }
  }
  func answered(_ answer: AnswerReport, loop: Int) {
    state.withLock {
      $0.answers.append(
        Entry(
          method: answer.method, route: answer.route, status: answer.status,
          hasDuration: answer.nanoseconds.map { $0 >= 0 } ?? false))
    }
  }

  /// Whether a condition becomes true within the time that the slowest machine may need.
  func waits(until condition: (Notebook) -> Bool) async -> Bool {
    for _ in 0..<2_000 {
      if condition(self) { return true }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return false
  }
}

/// A handler that names routes and records refused requests.
private final class Labelled: RequestHandler {
  struct Refusal: Equatable {
    var failure: RequestFailure
    var target: String?
    var hasFields: Bool
    var isFromLoopback: Bool
  }

  let inner = TestHandler()
  let refusals = Mutex<[Refusal]>([])

  func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    exchange.route = 7
    inner.handle(request, &exchange)
  }

  func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    refusals.withLock {
      $0.append(
        Refusal(
          failure: failure, target: request.request.map { "\($0.method.rawValue) \($0.string($0.path))" },
          hasFields: request.hasFields, isFromLoopback: request.peer.address == IPAddress("127.0.0.1")))
    }
    if request.route == 0 { request.route = 9 }
    return inner.refusal(failure, of: &request)
  }
}

@Suite struct ServerObserverTests {
  private let notebook = Notebook()
  private let handler = Labelled()

  private func run(
    limits: ServerLimits = ServerLimits(), _ body: (SocketAddress) async throws -> Void
  ) async throws {
    let loops = try EventLoopGroup(count: 1)
    let server = Server(
      .address(SocketAddress(IPAddress(v4: 0x7F00_0001), port: 0)), limits: limits, loops: loops,
      handler: handler, observer: notebook)
    let address = try server.start()
    try await body(address)
    await server.shutdown(within: .seconds(1))
    loops.shutdown()
  }

  @Test func `every response is reported once, with the handler's route`() async throws {
    try await run { address in
      let client = try Client(address)
      try client.send(
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\nHEAD /large HTTP/1.1\r\nHost: a\r\n\r\nPOST /twice HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
      )
      _ = try client.answer()
      _ = try client.answer(toHead: true)
      _ = try client.answer()
      try client.send("GET /defer HTTP/1.1\r\nHost: a\r\n\r\n")
      try await handler.inner.nextResponder().respond(Response(status: .accepted))
      _ = try client.answer()
      // A response that must not be sent counts as the one sent instead.
      try client.send("GET /split HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try client.answer().status == 500)
    }
    #expect(
      notebook.answers == [
        .init(method: .get, route: 7, status: 200, hasDuration: true),
        .init(method: .head, route: 7, status: 200, hasDuration: true),
        .init(method: .post, route: 7, status: 200, hasDuration: true),
        .init(method: .get, route: 7, status: 202, hasDuration: true),
        .init(method: .get, route: 7, status: 500, hasDuration: true),
      ])
  }

  @Test func `a forgotten response is reported under the handler's own route`() async throws {
    try await run { address in
      for path in ["/nothing", "/drop"] {
        let client = try Client(address)
        try client.send("DELETE \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.answer().status == 500)
      }
    }
    #expect(notebook.answers.count == 2)
    #expect(
      notebook.answers.allSatisfy { $0 == .init(method: .delete, route: 7, status: 500, hasDuration: true) })
  }

  @Test func `a connection closed for memory is reported with its reason, and gets no response`() async throws
  {
    try await run(limits: ServerLimits(unfinishedOctets: 1)) { address in
      let client = try Client(address)
      try client.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx")
      #expect(try client.octetsToEnd().isEmpty)
    }
    #expect(notebook.closedForMemory == [.unfinished])
    #expect(notebook.answers.isEmpty && notebook.closed == 1)
  }

  @Test func `the server's own refusals are reported without a duration`() async throws {
    var limits = ServerLimits(contentBytes: 10)
    limits.message.headerBytes = 200
    try await run(limits: limits) { address in
      for text in [
        "not HTTP\r\n\r\n",
        "POST /p?q HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n",
        "PUT /p HTTP/1.1\r\nHost: a\r\nBad Field: x\r\n\r\n",
        "GET /\(String(repeating: "p", count: 300)) HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /f HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 300))\r\n\r\n",
      ] {
        let client = try Client(address)
        try client.send(text)
        _ = try client.answer()
      }
    }
    #expect(
      notebook.answers == [
        .init(method: .other, route: 9, status: 400, hasDuration: false),
        .init(method: .post, route: 9, status: 413, hasDuration: false),
        .init(method: .put, route: 9, status: 400, hasDuration: false),
        .init(method: .other, route: 9, status: 414, hasDuration: false),
        .init(method: .get, route: 9, status: 431, hasDuration: false),
      ])
    #expect(
      handler.refusals.withLock { $0 } == [
        .init(failure: .malformed, target: nil, hasFields: false, isFromLoopback: true),
        .init(failure: .contentTooLarge, target: "POST /p", hasFields: true, isFromLoopback: true),
        .init(failure: .malformed, target: "PUT /p", hasFields: false, isFromLoopback: true),
        .init(failure: .targetTooLong, target: nil, hasFields: false, isFromLoopback: true),
        .init(failure: .fieldsTooLarge, target: "GET /f", hasFields: false, isFromLoopback: true),
      ])
  }

  @Test func `a refused request is known by its request line, however it came`() async throws {
    try await run(limits: ServerLimits(headerTimeout: .seconds(600))) { address in
      for cut in ["POST /cut HTTP/1.1\r\n", "POST /cut HTTP/1.1\r\nHost", "POST /cut HTTP/1.1\r\nHost: a\r"] {
        let client = try Client(address)
        try client.send(cut)
        // The rest comes in a separate segment, and is malformed.
        try await Task.sleep(for: .milliseconds(20))
        try client.send("\n \r\n\r\n")
        #expect(try client.answer().status == 400)
      }
      // The connection ends in the middle of the content, the fields or the request line.
      for (text, hasAnswer) in [
        ("POST /content HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc", true),
        ("POST /fields HTTP/1.1\r\nHost: a", true), ("POST /li", true),
      ] {
        let client = try Client(address)
        try client.send(text)
        client.finish()
        if hasAnswer { #expect(try client.answer().status == 400) }
      }
    }
    #expect(
      handler.refusals.withLock { $0 }.map(\.target) == [
        "POST /cut", "POST /cut", "POST /cut", "POST /content", "POST /fields", nil,
      ])
    #expect(handler.refusals.withLock { $0 }.map(\.hasFields) == [false, false, false, true, false, false])
  }

  @Test func `a response whose client has gone is reported, too`() async throws {
    try await run { address in
      let client = try Client(address)
      try client.send("GET /defer HTTP/1.1\r\nHost: a\r\n\r\n")
      let responder = try await handler.inner.nextResponder()
      client.resetOnClose()
      _ = consume client
      #expect(await notebook.waits { $0.closed == 1 })
      responder.respond(Response(status: .created))
      #expect(await notebook.waits { !$0.answers.isEmpty })
    }
    #expect(notebook.answers == [.init(method: .get, route: 7, status: 201, hasDuration: true)])
  }

  @Test func `connections are reported when they open and close, except those without room`()
    async throws
  {
    try await run(limits: ServerLimits(connections: 1)) { address in
      let first = try Client(address)
      try first.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try first.answer()
      #expect(notebook.opened == 1 && notebook.closed == 0)
      let second = try Client(address)
      #expect(try second.answer().status == 503)
      #expect(notebook.opened == 1)
      try first.send("GET /close HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try first.answer()
    }
    #expect(notebook.opened == 1 && notebook.closed == 1)
    #expect(notebook.answers.contains(.init(method: .other, route: 9, status: 503, hasDuration: false)))
  }

  @Test func `octets between requests are refused under an id of their own`() async throws {
    try await run { address in
      let client = try Client(address)
      try client.send("GET /a HTTP/1.1\r\nHost: a\r\nX-Request-Id: the-first\r\n\r\n")
      #expect(try client.answer().fields["x-request-id"] == "the-first")
      // These bytes are neither an empty line nor a request. The ID of the previous request must not be used
      // for them.
      try client.send("\rx")
      let refusal = try client.answer()
      #expect(refusal.status == 400)
      #expect(refusal.fields["x-request-id"] != "the-first")
    }
    #expect(handler.refusals.withLock { $0.map(\.target) } == [nil])
  }
}
