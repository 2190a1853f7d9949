// A server for the tests, whose handler does what the request's path says.

import Glibc
import HTTP
import HTTPServer
import Platform
import Synchronization
import TestSupport

/// A server on a free loopback port whose handler does what the path says.
final class TestServer: Sendable {
  let handler = TestHandler()
  let server: Server
  let address: SocketAddress
  private let loops: EventLoopGroup

  init(
    limits: ServerLimits = ServerLimits(), loops count: Int = 1, host: String = "127.0.0.1",
    filter: Server.Filter? = nil, filteredFields: Fields = [:]
  ) throws {
    loops = try EventLoopGroup(count: count)
    let address = SocketAddress(IPAddress(host) ?? IPAddress(v4: 0x7F00_0001), port: 0)
    server = Server(
      .address(address), limits: limits, loops: loops, handler: handler, filter: filter,
      filteredFields: filteredFields)
    self.address = try server.start()
  }

  deinit { loops.shutdown() }

  func client() throws -> Client { try Client(address) }

  /// Runs a closure on the first loop.
  func execute(_ body: @escaping @Sendable () -> Void) { loops.loops[0].execute(body) }

  /// The processor time that the first loop has used.
  var processorTime: Duration {
    loops.loops[0].run {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
  }

  /// Returns once every loop has turned, and so has done everything sent to it before.
  func settle() { for loop in loops.loops { loop.run {} } }
}

final class TestHandler: RequestHandler {
  let responders = Mutex<[Responder]>([])
  let handled = Atomic<Int>(0)
  let judged = Atomic<Int>(0)
  /// The findings from judging the heads of handled requests.
  let findings = Mutex<[String]>([])
  let extra = PreparedFields(["X-Extra": "1"])
  let large = PreparedResponse(Response(status: .ok, content: Array(repeating: 0x78, count: 8192)))

  /// A response larger than the kernel's buffers, created only for the tests that use it.
  static let document: PreparedResponse = {
    let piece = [UInt8](0..<251)
    var content: [UInt8] = []
    for _ in 0..<50_000 { content += piece }
    return PreparedResponse(Response(status: .ok, content: content), isShared: true)
  }()

  func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    handled.add(1, ordering: .relaxed)
    if let finding = exchange.finding as? String { findings.withLock { $0.append(finding) } }
    if request.value(of: .origin) != nil { exchange.put(extra) }
    if request.pathIs("/defer") {
      guard exchange.mayDefer else { return exchange.respond(Response(status: .serviceUnavailable)) }
      let responder = exchange.deferred()
      responders.withLock { $0.append(responder) }
    } else if request.pathIs("/abandon") {
      exchange.closeUnanswered()
    } else if request.pathIs("/nothing") {
      return
    } else if request.pathIs("/drop") {
      _ = exchange.deferred()
    } else if request.pathIs("/large") {
      exchange.respond(large)
    } else if request.pathIs("/document") {
      exchange.respond(Self.document)
    } else if request.pathIs("/own") {
      exchange.respond(Response(status: .ok, content: Self.document.content))
    } else if request.pathIs("/twice") {
      exchange.respond(Response(status: .ok, content: Array("first".utf8)))
      exchange.respond(Response(status: .ok, content: Array("second".utf8)))
    } else if request.pathIs("/split") {
      exchange.respond(Response(status: .ok, fields: ["X": "a\r\nSet-Cookie: b"]))
    } else if request.pathIs("/close") {
      exchange.respond(Response(status: .ok, closesConnection: true))
    } else if request.pathIs("/peer") {
      exchange.respond(Response(status: .ok, content: Array(exchange.peer.address.description.utf8)))
    } else {
      let text = "\(request.string(request.path)) \(request.content.count)"
      exchange.respond(Response(status: .ok, content: Array(text.utf8)))
    }
  }

  /// Refuses `/refuse` at once, and judges `/judge` when the test says so. For other paths, the finding is
  /// the path.
  func judge(_ request: borrowing Request, _ exchange: inout Exchange) {
    judged.add(1, ordering: .relaxed)
    if request.pathIs("/refuse") {
      exchange.respond(Response(status: .unauthorized, content: Array("early".utf8)))
    } else if request.pathIs("/judge") {
      let responder = exchange.deferred()
      responders.withLock { $0.append(responder) }
    } else if request.pathIs("/succeed") {
      exchange.respond(Response(status: .ok, content: Array("early".utf8)))
    } else {
      exchange.finding = request.string(request.path)
    }
  }

  func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    if request.hasFields, request.request?.value(of: .origin) != nil { request.fields = extra }
    let status: Status =
      switch failure {
      case .malformed, .unfiltered: .badRequest
      case .timedOut: .requestTimeout
      case .contentTooLarge: .contentTooLarge
      case .targetTooLong: .uriTooLong
      case .fieldsTooLarge: .requestHeaderFieldsTooLarge
      case .overloaded: .serviceUnavailable
      case .unanswered: .internalServerError
      }
    return Response(status: status, content: Array("\(failure)".utf8))
  }

  /// Takes the next responder, waiting for it.
  func nextResponder() async throws -> Responder {
    try await eventually { responders.withLock { !$0.isEmpty } }
    return responders.withLock { $0.removeFirst() }
  }
}
