// The output side of a connection: writes responses and sends them to the socket.

import HTTP
import Platform
import Synchronization

/// The output side: responses go into the loop's output, and from there through the filter to the socket.
extension Connection {
  func answer(_ response: Response, _ requestID: RequestID, _ framing: AnswerFraming) {
    let closing = response.closesConnection || framing.clientCloses || framing.serverCloses || isDraining
    guard worker.withOutput({ response.appendLines(to: &$0) }) else {
      return answer(PreparedResponse(response), requestID, framing)
    }
    worker.appendRest(
      of: [], framing.fields, requestID, closing: closing, isFiltered: filter != nil,
      content: framing.isHead ? [] : response.content)
    answered(response.status, closing, framing)
  }

  func answer(_ response: PreparedResponse, _ requestID: RequestID, _ framing: AnswerFraming) {
    let closing = response.closesConnection || framing.clientCloses || framing.serverCloses || isDraining
    let isDocument =
      !framing.isHead && response.isShared && response.content.count > Self.smallDocument && document == nil
    worker.appendRest(
      of: response.lines, framing.fields, requestID, closing: closing, isFiltered: filter != nil,
      content: framing.isHead || isDocument ? [] : response.content)
    if isDocument { document = (response.content, 0) }
    answered(response.status, closing, framing)
  }

  /// The maximum size, in octets, of a shared document that is copied into the output, so that one call
  /// sends it with its head.
  private static let smallDocument = 4096
  /// The number of octets of a document that go through the filter at a time. No connection stores more of
  /// the document.
  private static let filteredPiece = 16_384

  /// Sends a response's head and the first half of its content, and closes the connection.
  func answerCutOff(_ response: Response, _ requestID: RequestID, _ framing: AnswerFraming) {
    let prepared = PreparedResponse(response)
    worker.appendRest(
      of: prepared.lines, framing.fields, requestID, closing: true, isFiltered: filter != nil,
      content: Array(prepared.content.prefix(prepared.content.count / 2)))
    answered(prepared.status, true, framing)
  }

  private func answered(_ status: Status, _ closing: Bool, _ framing: AnswerFraming) {
    worker.count(status, framing)
    if closing {
      // Nothing more is parsed.
      partial = Request()
    }
    let ending: ConnectionMachine.Ending =
      !closing ? .keepAlive : framing.clientCloses && !mayStillSend ? .close : .linger
    _ = machine.step(.answered(ending), now: worker.loop.now)
  }

  private var isDraining: Bool { worker.state.isDraining.load(ordering: .relaxed) }

  /// Responds in place of the handler, and ends the connection.
  ///
  /// - Parameter request: The request, if its request line is known.
  func refuse(_ failure: RequestFailure, _ request: Request?) {
    let id =
      if let request, parser.hasHead, let own = RequestID(of: request) {
        own
      } else {
        RequestID(from: &worker.ids)
      }
    refuse(
      failure, request, id, AnswerFraming(method: request?.method ?? .other, clientCloses: false, start: nil))
  }

  /// Responds to a request that its handler left without a response.
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

  /// Sends the output, with one call if it fits.
  func flush() {
    guard token != .none else {
      // Buffers are shared: what one connection cannot send must not reach the next.
      return worker.discardOutput()
    }
    if let filter {
      worker.withOutput { output in
        worker.withWire { wire in
          filter.send(output, wire: &wire)
          output.removeAll(keepingCapacity: true)
          swap(&wire, &output)
        }
      }
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

  /// Whether output waits for the client to read.
  var hasUnsent: Bool { !unsent.isEmpty || document != nil }

  /// Sends as much of the document as the socket accepts: without a filter it is not copied, with a filter it
  /// is sent in pieces.
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
    worker.withOutput { filter.send(Array(content[offset..<end]), wire: &$0) }
    endFilter(filter)
    return send()
  }

  /// Appends the filter's end to the output, once, after the last response.
  private func endFilter(_ filter: any StreamFilter) {
    guard machine.phase == .ending, document == nil, !isFinished else { return }
    isFinished = true
    worker.withOutput { filter.finish(wire: &$0) }
  }

  /// Reports to the budget how much unsent output this connection stores. Beyond the budget, connections are
  /// closed, perhaps this one.
  private func count(progress: Bool) {
    guard token != .none, counted != unsent.count || progress else { return }
    counted = unsent.count
    worker.state.unsent.hold(counted, token, of: worker, isProgress: progress)
  }

  /// Sends as much output as the socket accepts and stores the rest.
  private func send() -> StreamSocket.Transfer {
    guard !unsent.isEmpty else {
      let (result, rest) = worker.sendOutput(over: socket)
      if !rest.isEmpty { unsent = rest }
      return result
    }
    var waiting: [UInt8] = []
    swap(&waiting, &unsent)
    worker.withOutput { output in
      waiting.append(contentsOf: output)
      output.removeAll(keepingCapacity: true)
    }
    let result = socket.send(waiting, from: unsentStart)
    if case .bytes(let count) = result { unsentStart += count }
    if unsentStart == waiting.count {
      unsentStart = 0
    } else {
      swap(&waiting, &unsent)
    }
    return result
  }

  func finishWriting() {
    socket.finishWriting()
    unread = []
  }
}
