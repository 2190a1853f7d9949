// The input side of a connection: reads from the socket, parses requests and passes them to the handler.

import HTTP
import Platform
import Synchronization

/// The input side: from the socket through the filter and the parser to the handler.
extension Connection {
  /// The size of collected output, in octets, at which it is sent. Unread output of a client stays below
  /// this plus one response.
  private static let outputThreshold = 16_384
  /// Reads per turn, before other connections get their turn.
  private static let readsPerTurn = 4

  /// Reads and parses until there is no more input, or until the connection has to wait.
  func pump() {
    var reads = 0
    defer { countUnfinished(isProgress: reads > 0) }
    while machine.wantsInput || machine.dropsInput {
      if machine.wantsInput, !unread.isEmpty {
        var octets: [UInt8] = []
        swap(&octets, &unread)
        process(octets.span)
        continue
      }
      if machine.wantsInput, isInputOver {
        inputEnded()
        continue
      }
      guard isReadable else { break }
      reads += 1
      guard reads <= Self.readsPerTurn else { return worker.loop.runAgain(token) }
      read()
    }
    if worker.state.isEnding.load(ordering: .relaxed) {
      perform(machine.step(.shutDown, now: worker.loop.now))
    }
  }

  private func read() {
    // The loop's buffer is taken out while its octets are in use; nothing else reads meanwhile.
    var buffer: [UInt8] = []
    swap(&buffer, &worker.input)
    defer { swap(&buffer, &worker.input) }
    switch socket.receive(into: &buffer) {
    case .bytes(0):
      isReadable = false
      inputEnded()
    case .bytes(let count):
      // A short read has emptied the socket, and the next octet is a new edge (epoll(7)), so no second read
      // is needed.
      if count < buffer.count && !endIsNear { isReadable = false }
      receive(buffer.span.extracting(0..<count))
    case .wouldBlock:
      isReadable = false
    case .failed:
      close()
    }
  }

  private func inputEnded() {
    perform(machine.step(.inputEnded, now: worker.loop.now))
    flush()
  }

  private func receive(_ octets: Span<UInt8>) {
    if machine.dropsInput {
      return perform(machine.step(.dropped(octets.count), now: worker.loop.now))
    }
    guard let filter else { return process(octets) }
    var plain: [UInt8] = []
    swap(&plain, &worker.plain)
    let state = worker.withWire { filter.receive(octets, plain: &plain, wire: &$0) }
    if filter.isEstablished { endHandshake() }
    if !plain.isEmpty {
      if isCounted { process(plain.span) } else { refuse(.overloaded, nil) }
    }
    plain.removeAll(keepingCapacity: true)
    swap(&plain, &worker.plain)
    // The received octets may have ended the connection.
    if token != .none {
      switch state {
      case .open: break
      case .ended: isInputOver = true
      case .failed: _ = machine.step(.answered(.linger), now: worker.loop.now)
      case .clear: refuseUnfiltered()
      }
    }
    flush()
  }

  /// Parses octets and passes requests to the handler, until a request is deferred, the client leaves too
  /// much unread, or the octets end.
  private func process(_ input: Span<UInt8>) {
    guard machine.wantsInput else { return keep(input, from: 0) }
    // Parses into the loop's storage. A request that began in an earlier turn has its own.
    var request = Request()
    let isContinued = parser.phase != .idle
    if isContinued { swap(&request, &partial) } else { swap(&request, &worker.request) }
    var offset = 0
    parsing: while machine.wantsInput {
      switch parse(input, from: &offset, into: &request) {
      case .complete:
        handle(request, inputFollows: offset < input.count)
        // The document is sent after the output, so no later response may get into the output before it.
        if worker.output.count >= Self.outputThreshold || document != nil { flush() }
        if offset == input.count { break parsing }
      case .incomplete:
        _ = machine.step(.parsed(parser.phase), now: worker.loop.now)
        if parser.phase == .content, !isJudged { judge(request) }
        if machine.wantsInput { sendContinue() }
        break parsing
      case .failed(let failure):
        refuse(RequestFailure(failure), parser.hasRequestLine ? request : nil)
        break parsing
      }
    }
    if parser.phase != .idle, machine.wantsInput || machine.phase == .handling {
      // The rest is still to come: the connection stores what has arrived.
      swap(&request, &partial)
    } else if !isContinued {
      // The loop's storage is reused. A request's own storage is freed: an idle connection has none.
      swap(&request, &worker.request)
    }
    if offset < input.count { keep(input, from: offset) }
    flush()
  }

  /// Parses with a copy of the parser, which is about a hundred octets large. Then no access to the
  /// connection is open during the call, and the compiler need not check each access at run time.
  private func parse(
    _ input: Span<UInt8>, from offset: inout Int, into request: inout Request
  ) -> RequestParser.Progress {
    var parser = self.parser
    defer { self.parser = parser }
    return parser.parse(input, from: &offset, into: &request)
  }

  /// Stores the octets that cannot be parsed now, unless the connection will parse nothing more.
  private func keep(_ input: Span<UInt8>, from offset: Int) {
    switch machine.phase {
    case .ending, .lingering, .closed: break
    case .opened, .idle, .head, .content, .handling:
      // `unread` is taken out meanwhile, for the same reason as the parser.
      var octets: [UInt8] = []
      swap(&octets, &unread)
      octets.append(contentsOf: input.extracting(offset..<input.count))
      swap(&octets, &unread)
    }
  }

  /// Has the handler judge a head whose content has not arrived completely.
  private func judge(_ request: borrowing Request) {
    isJudged = true
    let now = worker.loop.now
    let id = RequestID(of: request) ?? RequestID(from: &worker.ids)
    let framing = AnswerFraming(
      method: request.method, clientCloses: request.closesConnection, serverCloses: true, start: now)
    mayStillSend = true
    var exchange = Exchange(requestID: id, now: now, framing: framing, connection: self, isEarly: true)
    worker.handler.judge(request, &exchange)
    guard exchange.state == .deferred else { return }
    _ = machine.step(.request, now: now)
    if endIsNear { noteFinishedWaiting() }
  }

  /// Sends `100 Continue`, if the client waits for it before it sends the content.
  func sendContinue() {
    guard parser.expectsContinue else { return }
    worker.withOutput { $0.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8) }
    var parser = self.parser
    parser.continueWasSent()
    self.parser = parser
  }

  private func handle(_ request: borrowing Request, inputFollows: Bool) {
    let now = worker.loop.now
    _ = machine.step(.request, now: now)
    let id = RequestID(of: request) ?? RequestID(from: &worker.ids)
    let framing = AnswerFraming(
      method: request.method, clientCloses: request.closesConnection, start: now)
    // A client may send more after `Connection: close`. The server reads it, because the client would
    // otherwise lose its response.
    mayStillSend = inputFollows || isReadable
    var exchange = Exchange(requestID: id, now: now, framing: framing, connection: self)
    worker.handler.handle(request, &exchange)
    if exchange.state == .open { answerUnanswered(id, exchange.framing) }
    if isJudged {
      isJudged = false
      finding = nil
    }
    if endIsNear { noteFinishedWaiting() }
  }

  // MARK: Unfinished requests

  /// The memory of unfinished requests, in octets: parts of a request, requests that wait for the one before
  /// them, and a partial record in the filter.
  var unfinishedOctets: Int {
    let held = unread.capacity + (filter?.heldOctets ?? 0)
    return parser.phase == .idle ? held : held + partial.memory
  }

  /// Reports to the budget what this connection stores of unfinished requests. Beyond the budget, connections
  /// are closed, perhaps this one.
  private func countUnfinished(isProgress: Bool) {
    let octets = unfinishedOctets
    guard octets > 0 || unfinished > 0, token != .none else { return }
    unfinished = octets
    worker.state.unfinished.hold(octets, token, of: worker, isProgress: isProgress)
  }
}
