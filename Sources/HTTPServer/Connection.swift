// One client connection: moves bytes between its socket and the parser as the state machine decides.

import HTTP
import Platform
import Synchronization

/// One client's connection: moves octets between its socket and the parser, as its `ConnectionMachine` says.
///
/// Between requests it owns no buffer: octets are read into the loop's, parsed in place, and answered from the loop's
/// output with one `send`. Only leftovers at the end of its turn are kept here: a part of a request, pipelined requests that must
/// wait, and responses that the client does not read.
final class Connection: EventReceiver {
  let worker: Worker
  let peer: SocketAddress
  /// The index in the worker's list.
  var place = 0
  private(set) var token = EventToken.none
  let socket: StreamSocket
  /// Nil where octets travel as they are.
  private(set) var filter: (any StreamFilter)?
  /// Whether the connection counts; false for one over the limit, which only gets 503.
  let isCounted: Bool

  var machine: ConnectionMachine
  var parser: RequestParser
  /// The request in parts; empty otherwise.
  var partial = Request()
  /// Input that waits until the request before it is answered.
  var unread: [UInt8] = []
  /// Output that waits for the client, from `unsentStart` on.
  var unsent: [UInt8] = []
  var unsentStart = 0
  /// The content of a document that all clients share, from an offset on: it follows `unsent`.
  var document: (content: [UInt8], offset: Int)?
  /// How many octets of this connection's own the budget of unsent octets counts.
  var counted = 0
  /// The handler has judged the head of the present request.
  var isJudged = false
  /// What it found out.
  var finding: (any Sendable)?
  /// How many octets of unfinished requests the budget counts for this connection.
  var unfinished = 0
  /// Edge-triggered: the socket may hold input until a read says otherwise.
  var isReadable = false
  /// The filter has sent its end.
  var isFinished = false
  /// Whether the client seems to go on sending after the request that is being answered.
  var mayStillSend = false
  /// The end of input is in the socket, after what can still be read.
  var endIsNear = false
  /// The client of the request that is deferred.
  var presence: ClientPresence?
  /// The client has ended its side, after the octets that wait here.
  var isInputOver = false

  /// The filter and the client have not agreed yet: one of few.
  private var isInHandshake = false

  init(_ socket: consuming StreamSocket, peer: SocketAddress, worker: Worker, isCounted: Bool) {
    self.socket = socket
    self.peer = peer
    self.worker = worker
    self.isCounted = isCounted
    filter = worker.makeFilter?(peer)
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
    if filter != nil {
      isInHandshake = true
      worker.handshakeBegan(token)
    }
    armDeadline()
  }

  /// Sends 503 because of too many connections, and reads the request away. Through a filter the client must
  /// send first, so it gets 503 once its request arrives.
  func refuseOverload() {
    guard machine.phase == .opened, token != .none, filter == nil else { return }
    refuse(.overloaded, nil)
    flush()
    armDeadline()
  }

  // MARK: Events

  func ready(_ readiness: Readiness) {
    if !readiness.isDisjoint(with: .broken) { return close() }
    if !readiness.isDisjoint(with: [.read, .peerFinished]) { isReadable = true }
    if readiness.contains(.peerFinished) {
      endIsNear = true
      noteFinishedWaiting()
    }
    if hasUnsent, readiness.contains(.write) { flush() }
    pump()
    armDeadline()
  }

  /// The process may have stood still: what the client sent or read meanwhile came in time, so it counts first.
  func deadlinePassed() {
    if hasUnsent { flush() }
    isReadable = true
    pump()
    // More waits than one turn reads: the next turn reads on, before time is judged again.
    guard !isReadable || !machine.wantsInput else { return armDeadline() }
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

  /// Makes room for another connection: what waits in the socket is still served, then the connection closes. One whose
  /// request is with its handler by then stays open.
  func giveWay() {
    isReadable = true
    pump()
    if machine.phase == .handling { return armDeadline() }
    close()
  }

  /// A deferred answer has come.
  func deliver(_ answer: DeferredAnswer, _ requestID: RequestID, _ framing: AnswerFraming) {
    guard machine.phase == .handling else { return worker.count(answer.status, framing) }
    stopWaiting()
    mayStillSend = mayStillSend || isReadable
    switch answer {
    case .whole(let response): self.answer(response, requestID, framing)
    case .prepared(let response): self.answer(response, requestID, framing)
    case .cutOff(let response): answerCutOff(response, requestID, framing)
    }
    resume()
  }

  /// Nothing in the head that was judged speaks against the request.
  func proceed(_ finding: (any Sendable)?) {
    guard machine.phase == .handling else { return }
    stopWaiting()
    self.finding = finding
    _ = machine.step(.judged, now: worker.loop.now)
    sendContinue()
    resume()
  }

  /// The handler resumes a deferred request.
  func resume(_ requestID: RequestID, _ framing: AnswerFraming, _ body: (inout Exchange) -> Void) {
    guard machine.phase == .handling else { return }
    stopWaiting()
    var exchange = Exchange(
      requestID: requestID, now: worker.loop.now, framing: framing, connection: self)
    body(&exchange)
    switch exchange.state {
    case .open: deliverNothing(requestID, exchange.framing)
    case .answered: resume()
    case .deferred: if endIsNear { noteFinishedWaiting() }
    }
  }

  /// A piece of a deferred answer has come.
  func deliverPiece(_ octets: [UInt8]) {
    guard machine.phase == .handling else { return }
    worker.withOutput { $0.append(contentsOf: octets) }
    flush()
    armDeadline()
  }

  /// A deferred answer will not come, on purpose.
  func abandon() {
    guard machine.phase == .handling else { return }
    close()
  }

  /// The deferred answer will never come.
  func deliverNothing(_ requestID: RequestID, _ framing: AnswerFraming) {
    guard machine.phase == .handling else { return }
    stopWaiting()
    mayStillSend = true
    answerUnanswered(requestID, framing)
    resume()
  }

  /// A client that has finished writing and waits for its answer may have gone: the kernel does not tell the two apart.
  /// Should there be no room for another client, this one's connection is closed for it.
  func noteFinishedWaiting() {
    guard machine.phase == .handling else { return }
    presence?.finished()
    worker.finishedWaiting.insert(token)
  }

  private func stopWaiting() {
    presence = nil
    if endIsNear { worker.finishedWaiting.remove(token) }
  }

  private func resume() {
    flush()
    pump()
    armDeadline()
  }

  func close() {
    guard token != .none else { return }
    endHandshake()
    machine.close()
    let presence = presence
    stopWaiting()
    presence?.left()
    if counted > 0 { worker.state.unsent.forget(token, of: worker) }
    if unfinished > 0 { worker.state.unfinished.forget(token, of: worker) }
    worker.loop.unregister(token)
    token = .none
    worker.remove(self)
    unread = []
    unsent = []
    unsentStart = 0
    document = nil
    counted = 0
    unfinished = 0
    partial = Request()
    finding = nil
  }

  /// Closes a connection whose client does not read, and has the kernel drop what it holds for it, too. One whose client has read
  /// everything meanwhile stays open.
  func closeUnread() {
    guard !unsent.isEmpty else { return }
    closeForMemory(.unread)
  }

  /// Closes a connection whose client has not finished its request. One whose request is whole meanwhile stays open.
  func closeUnfinished() {
    guard unfinishedOctets > 0 else { return }
    closeForMemory(.unfinished)
  }

  private func closeForMemory(_ reason: MemoryReason) {
    socket.resetOnClose()
    close()
    if isCounted { worker.countClosed(for: reason) }
  }

  /// The filter has agreed with the client, or never will.
  func endHandshake() {
    guard isInHandshake else { return }
    isInHandshake = false
    worker.handshakeEnded(token)
  }

  private func armDeadline() { worker.loop.setDeadline(token, machine.deadline) }

  func perform(_ action: ConnectionMachine.Action) {
    switch action {
    case .none: break
    case .refuse(let failure): refuse(failure, parser.hasRequestLine ? partial : nil)
    case .finish: finishWriting()
    case .close:
      sendFilterEnd()
      close()
    }
  }

  /// Sends the filter's end, once, after everything before it. A client that no longer reads misses nothing.
  private func sendFilterEnd() {
    guard let filter, token != .none, !isFinished, !hasUnsent else { return }
    isFinished = true
    worker.withWire { wire in
      filter.finish(wire: &wire)
      if !wire.isEmpty { _ = socket.send(wire) }
      wire.removeAll(keepingCapacity: true)
    }
  }

  /// The client speaks without the filter: so does the only answer it gets.
  func refuseUnfiltered() {
    endHandshake()
    filter = nil
    worker.withWire { $0.removeAll(keepingCapacity: true) }
    refuse(.unfiltered, nil)
  }
}
