internal import HTTP
internal import Platform
internal import Synchronization

/// One client's connection: moves octets between its socket and the parser, as its `ConnectionMachine` says.
///
/// Between requests it owns no buffer: octets are read into the loop's, parsed in place, and answered from the loop's
/// output with one `send`. Only what is left over at the end of its turn is kept here: a part of a request, pipelined
/// requests that must wait, answers the client does not read.
final class Connection: EventReceiver {
  /// As much output is collected before it is offered to the network; what is unread by the client stays below this and
  /// one answer.
  private static let outputThreshold = 16_384
  /// So many reads are made before other connections have their turn.
  private static let readsPerTurn = 4

  let worker: Worker
  let peer: SocketAddress
  /// The place in the worker's list.
  var place = 0
  private(set) var token = EventToken.none
  private let socket: StreamSocket
  private let filter: (any StreamFilter)?
  /// Whether the server let the connection in; false for one that is only told that there are too many.
  let isCounted: Bool

  private var machine: ConnectionMachine
  private var parser: RequestParser
  /// The request in parts; empty otherwise.
  private var partial = Request()
  /// Input that waits until the request before it is answered.
  private var unread: [UInt8] = []
  /// Output that waits for the client, from `unsentStart` on.
  private var unsent: [UInt8] = []
  private var unsentStart = 0
  /// Edge-triggered: the socket may hold input until a read says otherwise.
  private var isReadable = false
  /// The filter has said that nothing more is sent.
  private var isFinished = false
  /// Octets are being parsed, into the loop's request.
  private var isParsing = false
  /// Whether the client seems to go on sending after the request that is being answered.
  private var mayStillSend = false
  /// The end of input is in the socket, after what can still be read.
  private var endIsNear = false

  init(_ socket: consuming StreamSocket, peer: SocketAddress, worker: Worker, isCounted: Bool) {
    self.socket = socket
    self.peer = peer
    self.worker = worker
    self.isCounted = isCounted
    filter = worker.makeFilter?()
    machine = ConnectionMachine(limits: worker.timeLimits, now: worker.loop.now)
    parser = RequestParser(limits: worker.limits.message)
  }

  /// Takes up life on the loop. Registered once for everything, edge-triggered: no epoll_ctl(2) per request.
  func open() {
    do throws(SystemError) {
      token = try worker.loop.register(socket.descriptor, [.read, .write, .peerFinished, .onChange], self)
    } catch {
      // No memory for one more: the socket closes with this object.
      return
    }
    worker.add(self)
    armDeadline()
  }

  /// Tells the client that there are too many, and reads its request away.
  func refuseOverload() {
    guard machine.phase == .opened, token != .none else { return }
    refuse(.overloaded)
    flush()
    armDeadline()
  }

  // MARK: Events

  func ready(_ readiness: Readiness) {
    if !readiness.isDisjoint(with: .broken) { return close() }
    if !readiness.isDisjoint(with: [.read, .peerFinished]) { isReadable = true }
    if readiness.contains(.peerFinished) { endIsNear = true }
    if !unsent.isEmpty, readiness.contains(.write) { flush() }
    pump()
    armDeadline()
  }

  func deadlinePassed() {
    perform(machine.step(.time, now: worker.loop.now))
    flush()
    armDeadline()
  }

  func loopEnded() { close() }

  /// The server ends: what waits in the socket is still served, then the connection closes as soon as it is idle.
  func shutDown() {
    isReadable = true
    pump()
    perform(machine.step(.shutDown, now: worker.loop.now))
    armDeadline()
  }

  /// A deferred answer has come.
  func deliver(_ response: Response, _ requestID: RequestID, _ framing: AnswerFraming) {
    guard machine.phase == .handling else { return }
    mayStillSend = mayStillSend || isReadable
    answer(response, requestID, framing)
    resume()
  }

  /// A deferred answer has come.
  func deliver(_ response: PreparedResponse, _ requestID: RequestID, _ framing: AnswerFraming) {
    guard machine.phase == .handling else { return }
    mayStillSend = mayStillSend || isReadable
    answer(response, requestID, framing)
    resume()
  }

  /// A deferred answer will not come, on purpose.
  func abandon() {
    guard machine.phase == .handling else { return }
    close()
  }

  /// The deferred answer will never come.
  func deliverNothing(_ requestID: RequestID, _ framing: AnswerFraming) {
    guard machine.phase == .handling else { return }
    mayStillSend = true
    answerUnanswered(requestID, framing)
    resume()
  }

  private func resume() {
    flush()
    pump()
    armDeadline()
  }

  func close() {
    guard token != .none else { return }
    machine.close()
    worker.loop.unregister(token)
    token = .none
    worker.remove(self)
    unread = []
    unsent = []
    unsentStart = 0
    partial = Request()
  }

  private func armDeadline() { worker.loop.setDeadline(token, machine.deadline) }

  private func perform(_ action: ConnectionMachine.Action) {
    switch action {
    case .none: break
    case .refuse(let failure): refuse(failure)
    case .finish: finishWriting()
    case .close: close()
    }
  }

  // MARK: Input

  /// Reads and parses until there is nothing more, or something must happen first.
  private func pump() {
    var reads = 0
    while machine.wantsInput || machine.dropsInput {
      if machine.wantsInput, !unread.isEmpty {
        var octets: [UInt8] = []
        swap(&octets, &unread)
        process(octets.span)
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
      // A short read has emptied the socket, and the next octet is a new edge (epoll(7)): no second read to hear so.
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
    let state = filter.receive(octets, plain: &plain, wire: &worker.wire)
    if !plain.isEmpty { process(plain.span) }
    plain.removeAll(keepingCapacity: true)
    swap(&plain, &worker.plain)
    switch state {
    case .open: flush()
    case .ended: inputEnded()
    case .failed:
      _ = machine.step(.answered(.linger), now: worker.loop.now)
      flush()
    }
  }

  /// Parses octets and hands requests over, until one is deferred, the client leaves too much unread, or they end.
  private func process(_ input: Span<UInt8>) {
    guard machine.wantsInput else { return keep(input, from: 0) }
    let isContinued = parser.phase != .idle
    if isContinued { swap(&worker.request, &partial) }
    isParsing = true
    var offset = 0
    parsing: while machine.wantsInput {
      switch parser.parse(input, from: &offset, into: &worker.request) {
      case .complete:
        handle(inputFollows: offset < input.count)
        if worker.output.count >= Self.outputThreshold { flush() }
        if offset == input.count { break parsing }
      case .incomplete:
        _ = machine.step(.parsed(parser.phase), now: worker.loop.now)
        if parser.expectsContinue {
          worker.output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8)
          parser.continueWasSent()
        }
        break parsing
      case .failed(let failure):
        refuse(RequestFailure(failure))
        break parsing
      }
    }
    isParsing = false
    if parser.phase != .idle, machine.wantsInput {
      // The rest is still to come: what there is goes with the connection.
      swap(&worker.request, &partial)
    } else if isContinued {
      // The loop goes on with this storage; the other is not needed, and an idle connection keeps none.
      partial = Request()
    }
    if offset < input.count { keep(input, from: offset) }
    flush()
  }

  /// Keeps what cannot be parsed now, unless nothing will be parsed any more.
  private func keep(_ input: Span<UInt8>, from offset: Int) {
    switch machine.phase {
    case .ending, .lingering, .closed: break
    case .opened, .idle, .head, .content, .handling:
      unread.append(contentsOf: input.extracting(offset..<input.count))
    }
  }

  // MARK: Answers

  private func handle(inputFollows: Bool) {
    let now = worker.loop.now
    _ = machine.step(.request, now: now)
    let id = RequestID(of: worker.request, or: &worker.ids)
    let framing = AnswerFraming(
      isHead: worker.request.method == .head, clientCloses: worker.request.closesConnection)
    // A client that goes on sending after it said `close` is read on, as its answer would be lost else.
    mayStillSend = inputFollows || isReadable
    var exchange = Exchange(requestID: id, now: now, framing: framing, connection: self)
    worker.handler.handle(worker.request, &exchange)
    if exchange.state == .open { answerUnanswered(id, framing) }
  }

  func answer(_ response: Response, _ requestID: RequestID, _ framing: AnswerFraming) {
    let closing = response.closesConnection || framing.clientCloses || isDraining
    guard response.appendLines(to: &worker.output) else {
      return answer(PreparedResponse(response), requestID, framing)
    }
    worker.appendServerLines(requestID, closing: closing)
    if !framing.isHead { worker.output.append(contentsOf: response.content) }
    answered(closing, framing)
  }

  func answer(_ response: PreparedResponse, _ requestID: RequestID, _ framing: AnswerFraming) {
    let closing = response.closesConnection || framing.clientCloses || isDraining
    response.appendLines(to: &worker.output)
    worker.appendServerLines(requestID, closing: closing)
    if !framing.isHead { worker.output.append(contentsOf: response.content) }
    answered(closing, framing)
  }

  private func answered(_ closing: Bool, _ framing: AnswerFraming) {
    let ending: ConnectionMachine.Ending =
      !closing ? .keepAlive : framing.clientCloses && !mayStillSend ? .close : .linger
    _ = machine.step(.answered(ending), now: worker.loop.now)
  }

  private var isDraining: Bool { worker.state.isDraining.load(ordering: .relaxed) }

  /// Answers what is no request, or no request any more, and ends the connection.
  private func refuse(_ failure: RequestFailure) {
    // Between turns the unfinished request is the connection's; while octets are parsed it is the loop's.
    let id =
      !parser.hasHead
      ? RequestID(from: &worker.ids)
      : isParsing ? RequestID(of: worker.request, or: &worker.ids) : RequestID(of: partial, or: &worker.ids)
    var response = worker.handler.refusal(failure, requestID: id)
    response.closesConnection = true
    answer(response, id, AnswerFraming(isHead: false, clientCloses: false))
  }

  /// Answers in place of a handler that did not.
  func answerUnanswered(_ requestID: RequestID, _ framing: AnswerFraming) {
    var response = worker.handler.refusal(.unanswered, requestID: requestID)
    response.closesConnection = true
    answer(response, requestID, framing)
  }

  // MARK: Output

  /// Offers the output to the network, with one call where it fits.
  private func flush() {
    guard token != .none else {
      worker.output.removeAll(keepingCapacity: true)
      return
    }
    if let filter {
      filter.send(worker.output, wire: &worker.wire)
      worker.output.removeAll(keepingCapacity: true)
      if machine.phase == .ending, !isFinished {
        isFinished = true
        filter.finish(wire: &worker.wire)
      }
      swap(&worker.wire, &worker.output)
    }
    var progress = false
    if !unsent.isEmpty || !worker.output.isEmpty {
      switch send() {
      case .bytes(let count): progress = count > 0
      case .wouldBlock: break
      case .failed: return close()
      }
    }
    perform(machine.step(.flushed(progress: progress, isEmpty: unsent.isEmpty), now: worker.loop.now))
  }

  /// Sends as much as goes and keeps the rest.
  private func send() -> StreamSocket.Transfer {
    if !unsent.isEmpty {
      unsent.append(contentsOf: worker.output)
      worker.output.removeAll(keepingCapacity: true)
      let result = socket.send(unsent, from: unsentStart)
      if case .bytes(let count) = result {
        unsentStart += count
        if unsentStart == unsent.count {
          unsent = []
          unsentStart = 0
        }
      }
      return result
    }
    let result = socket.send(worker.output)
    let sent = if case .bytes(let count) = result { count } else { 0 }
    if sent < worker.output.count { unsent = Array(worker.output[sent...]) }
    worker.output.removeAll(keepingCapacity: worker.output.capacity <= 262_144)
    return result
  }

  private func finishWriting() {
    socket.finishWriting()
    unread = []
  }
}
