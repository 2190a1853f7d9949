// One client connection: moves bytes between its socket and the parser as the state machine decides.

import HTTP
import Platform
import Synchronization

/// One client's connection: moves octets between its socket and the parser, as its `ConnectionMachine`
/// decides.
///
/// Between requests a connection owns no buffer. Octets are read into the loop's buffer and parsed in place,
/// and responses leave from the loop's output with one `send`. The connection stores only what is left at the
/// end of its turn: a part of a request, pipelined requests that must wait, and responses that the client
/// does not read.
final class Connection: EventReceiver {
  let worker: Worker
  let peer: SocketAddress
  /// The connection's index in the worker's list.
  var place = 0
  private(set) var token = EventToken.none
  let socket: StreamSocket
  /// The filter between this connection and its socket; nil if octets travel unchanged.
  private(set) var filter: (any StreamFilter)?
  /// Whether the connection counts toward the limit; false for one beyond the limit, which only gets 503.
  let isCounted: Bool

  var machine: ConnectionMachine
  var parser: RequestParser
  /// The request that has arrived in part; empty otherwise.
  var partial = Request()
  /// Input that waits until the request before it is answered.
  var unread: [UInt8] = []
  /// Output that waits for the client, from `unsentStart` on.
  var unsent: [UInt8] = []
  var unsentStart = 0
  /// A document that all clients share, and the offset of its first unsent octet. It follows `unsent`.
  var document: (content: [UInt8], offset: Int)?
  /// The octets of `unsent` that the budget counts for this connection.
  var counted = 0
  /// Whether the handler has judged the head of the current request.
  var isJudged = false
  /// The result of judging that head; see `Exchange.finding`.
  var finding: (any Sendable)?
  /// The number of octets of unfinished requests that the budget counts for this connection.
  var unfinished = 0
  /// Whether the socket may contain input. Events are edge-triggered, so this stays true until a read has
  /// emptied the socket.
  var isReadable = false
  /// Whether the filter has sent its end.
  var isFinished = false
  /// Whether the client seems to send more after the request that is being answered.
  var mayStillSend = false
  /// Whether the client's end of input is in the socket, after octets that can still be read.
  var endIsNear = false
  /// The presence of the client whose request is deferred.
  var presence: ClientPresence?
  /// Whether the filter has reported the end of the client's data. Octets in `unread` came before the end.
  var isInputOver = false

  /// Whether the filter's handshake is unfinished. The number of such connections is limited.
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

  /// Registers the connection with the loop once, for all events and edge-triggered. So requests need no
  /// epoll_ctl(2).
  func open() {
    do throws(SystemError) {
      token = try worker.loop.register(socket.descriptor, [.read, .write, .peerFinished, .onChange], self)
    } catch {
      // The kernel has no memory for another registration: the socket closes with this object.
      return
    }
    worker.add(self)
    if filter != nil {
      isInHandshake = true
      worker.handshakeBegan(token)
    }
    armDeadline()
  }

  /// Sends 503 because of too many connections, and drops the request. Through a filter the client must
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

  /// Sends and reads once more before it checks the deadline. The process may have been suspended, and what
  /// the client sent or read in that time was not late.
  func deadlinePassed() {
    if hasUnsent { flush() }
    isReadable = true
    pump()
    // There is more input than one turn reads. The next turn reads it before the deadline is checked again.
    guard !isReadable || !machine.wantsInput else { return armDeadline() }
    perform(machine.step(.time, now: worker.loop.now))
    flush()
    armDeadline()
  }

  func loopEnded() { close() }

  /// Prepares for the server's shutdown. Requests that wait in the socket are still served; then the
  /// connection closes as soon as it is idle.
  func shutDown() {
    isReadable = true
    pump()
    perform(machine.step(.shutDown, now: worker.loop.now))
    armDeadline()
  }

  /// Closes the connection to make room for another. Requests that wait in the socket are served first. If
  /// one of them is then still with its handler, the connection stays open.
  func giveWay() {
    isReadable = true
    pump()
    if machine.phase == .handling { return armDeadline() }
    close()
  }

  /// Sends a deferred response.
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

  /// Continues with the content, because a deferred judgment has not refused the head.
  func proceed(_ finding: (any Sendable)?) {
    guard machine.phase == .handling else { return }
    stopWaiting()
    self.finding = finding
    _ = machine.step(.judged, now: worker.loop.now)
    sendContinue()
    resume()
  }

  /// Lets the handler respond to a deferred request on this loop, or defer it again.
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

  /// Sends a piece of a deferred response.
  func deliverPiece(_ octets: [UInt8]) {
    guard machine.phase == .handling else { return }
    worker.withOutput { $0.append(contentsOf: octets) }
    flush()
    armDeadline()
  }

  /// Closes the connection without the deferred response, as the handler requested.
  func abandon() {
    guard machine.phase == .handling else { return }
    close()
  }

  /// Responds to a deferred request that its handler has dropped without a response.
  func deliverNothing(_ requestID: RequestID, _ framing: AnswerFraming) {
    guard machine.phase == .handling else { return }
    stopWaiting()
    mayStillSend = true
    answerUnanswered(requestID, framing)
    resume()
  }

  /// Notes that the client of a running request has finished writing. It may wait for its response or be
  /// gone: the kernel does not tell the two apart. If there is no room for another client, this connection is
  /// closed to make room.
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

  /// Closes a connection whose client does not read, and makes the kernel discard its unsent octets, too. If
  /// the client has read everything meanwhile, the connection stays open.
  func closeUnread() {
    guard !unsent.isEmpty else { return }
    closeForMemory(.unread)
  }

  /// Closes a connection whose client has not finished its request. If the request is complete meanwhile, the
  /// connection stays open.
  func closeUnfinished() {
    guard unfinishedOctets > 0 else { return }
    closeForMemory(.unfinished)
  }

  private func closeForMemory(_ reason: MemoryReason) {
    socket.resetOnClose()
    close()
    if isCounted { worker.countClosed(for: reason) }
  }

  /// Stops counting the handshake, which has succeeded or failed.
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

  /// Sends the filter's end, once, after everything before it. If that fails, the client no longer reads and
  /// misses nothing.
  private func sendFilterEnd() {
    guard let filter, token != .none, !isFinished, !hasUnsent else { return }
    isFinished = true
    worker.withWire { wire in
      filter.finish(wire: &wire)
      if !wire.isEmpty { _ = socket.send(wire) }
      wire.removeAll(keepingCapacity: true)
    }
  }

  /// Responds without the filter, because the client sent HTTP without it. The client gets no other response.
  func refuseUnfiltered() {
    endHandshake()
    filter = nil
    worker.withWire { $0.removeAll(keepingCapacity: true) }
    refuse(.unfiltered, nil)
  }
}
