// How a connection writes responses and sends them to its socket.

import HTTP
import Platform
import Synchronization

/// The way out: answers into the loop's output, and the output through the filter to the socket.
extension Connection {
  func answer(_ response: Response, _ requestID: RequestID, _ framing: AnswerFraming) {
    let closing = response.closesConnection || framing.clientCloses || framing.serverCloses || isDraining
    guard response.appendLines(to: &worker.output) else {
      return answer(PreparedResponse(response), requestID, framing)
    }
    framing.fields?.appendLines(to: &worker.output)
    worker.appendServerLines(requestID, closing: closing, isFiltered: filter != nil)
    if !framing.isHead { worker.output.append(contentsOf: response.content) }
    answered(response.status, closing, framing)
  }

  func answer(_ response: PreparedResponse, _ requestID: RequestID, _ framing: AnswerFraming) {
    let closing = response.closesConnection || framing.clientCloses || framing.serverCloses || isDraining
    response.appendLines(to: &worker.output)
    framing.fields?.appendLines(to: &worker.output)
    worker.appendServerLines(requestID, closing: closing, isFiltered: filter != nil)
    if !framing.isHead {
      if response.isShared, response.content.count > Self.smallDocument, document == nil {
        document = (response.content, 0)
      } else {
        worker.output.append(contentsOf: response.content)
      }
    }
    answered(response.status, closing, framing)
  }

  /// A document of as many octets is copied into the output: one call sends it with its head.
  private static let smallDocument = 4096
  /// So many octets of a document go through the filter at once: no connection alone holds more of it.
  private static let filteredPiece = 16_384

  /// Sends an answer's head and the first half of its content, and closes.
  func answerCutOff(_ response: Response, _ requestID: RequestID, _ framing: AnswerFraming) {
    let prepared = PreparedResponse(response)
    prepared.appendLines(to: &worker.output)
    framing.fields?.appendLines(to: &worker.output)
    worker.appendServerLines(requestID, closing: true, isFiltered: filter != nil)
    worker.output.append(contentsOf: prepared.content.prefix(prepared.content.count / 2))
    answered(prepared.status, true, framing)
  }

  private func answered(_ status: Status, _ closing: Bool, _ framing: AnswerFraming) {
    worker.count(status, framing)
    let ending: ConnectionMachine.Ending =
      !closing ? .keepAlive : framing.clientCloses && !mayStillSend ? .close : .linger
    _ = machine.step(.answered(ending), now: worker.loop.now)
  }

  private var isDraining: Bool { worker.state.isDraining.load(ordering: .relaxed) }

  /// Answers malformed or cut off input, and ends the connection.
  ///
  /// - Parameter request: the request, where its request line is known.
  func refuse(_ failure: RequestFailure, _ request: Request?) {
    let id =
      if let request, parser.hasHead {
        RequestID(of: request, or: &worker.ids)
      } else {
        RequestID(from: &worker.ids)
      }
    refuse(
      failure, request, id, AnswerFraming(method: request?.method ?? .other, clientCloses: false, start: nil))
  }

  /// Answers in place of a handler that did not.
  func answerUnanswered(_ requestID: RequestID, _ framing: AnswerFraming) {
    refuse(.unanswered, nil, requestID, framing)
  }

  private func refuse(
    _ failure: RequestFailure, _ request: Request?, _ requestID: RequestID, _ framing: AnswerFraming
  ) {
    var refused = RefusedRequest(
      requestID: requestID, peer: peer, now: worker.loop.now, loopIndex: worker.loop.index, request: request,
      hasFields: parser.hasHead, route: framing.route, fields: framing.fields)
    var response = worker.handler.refusal(failure, of: &refused)
    response.closesConnection = true
    var framing = framing
    framing.route = refused.route
    framing.fields = refused.fields
    answer(response, requestID, framing)
  }

  // MARK: Output

  /// Offers the output to the network, with one call where it fits.
  func flush() {
    guard token != .none else {
      // Buffers are shared: what one connection cannot send must not reach the next.
      worker.output.removeAll(keepingCapacity: true)
      worker.wire.removeAll(keepingCapacity: true)
      return
    }
    if let filter {
      filter.send(worker.output, wire: &worker.wire)
      worker.output.removeAll(keepingCapacity: true)
      swap(&worker.wire, &worker.output)
      endFilter(filter)
    }
    var progress = false
    if !unsent.isEmpty || !worker.output.isEmpty {
      switch send() {
      case .bytes(let count): progress = count > 0
      case .wouldBlock: break
      case .failed: return close()
      }
    }
    while document != nil, unsent.isEmpty {
      switch sendDocument() {
      case .bytes(let count): progress = progress || count > 0
      case .wouldBlock: break
      case .failed: return close()
      }
      if filter == nil { break }
    }
    perform(machine.step(.flushed(progress: progress, isEmpty: !hasUnsent), now: worker.loop.now))
    if counted > 0 || !unsent.isEmpty { count(progress: progress) }
  }

  /// Whether something waits for the client to read.
  var hasUnsent: Bool { !unsent.isEmpty || document != nil }

  /// Sends what goes of the document: without a filter from where it lies, through a filter a piece.
  private func sendDocument() -> StreamSocket.Transfer {
    guard let (content, offset) = document else { return .bytes(0) }
    guard let filter else {
      let result = socket.send(content, from: offset)
      if case .bytes(let count) = result {
        document = offset + count < content.count ? (content, offset + count) : nil
      }
      return result
    }
    let end = min(offset + Self.filteredPiece, content.count)
    document = end < content.count ? (content, end) : nil
    filter.send(Array(content[offset..<end]), wire: &worker.output)
    endFilter(filter)
    return send()
  }

  /// Appends the filter's end to the output, once, behind the last answer.
  private func endFilter(_ filter: any StreamFilter) {
    guard machine.phase == .ending, document == nil, !isFinished else { return }
    isFinished = true
    filter.finish(wire: &worker.output)
  }

  /// Tells the budget what this connection alone holds. Beyond the budget, connections are closed, perhaps this one.
  private func count(progress: Bool) {
    guard token != .none, counted != unsent.count || progress else { return }
    counted = unsent.count
    worker.state.unsent.hold(counted, token, of: worker, progressAt: progress ? worker.loop.now : nil)
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

  func finishWriting() {
    socket.finishWriting()
    unread = []
  }
}
