// A request as the handler sees it: its context, and the ways to respond now, later or not at all.

public import HTTP
public import Platform
import Synchronization

/// One request's way to its response: the values beside the request, and the means to respond.
///
/// Answer once, or take a `Responder` and answer later. The first answer counts; without any the server answers 500.
public struct Exchange: ~Copyable {
  enum State { case open, answered, deferred }

  /// The request's id, which the server writes on the answer.
  public let requestID: RequestID
  /// Who is at the other end of the connection.
  public var peer: SocketAddress { connection.peer }
  /// When the request was whole.
  public let now: MonotonicTime
  /// Which loop this is, of those the server runs on.
  public var loopIndex: Int { connection.worker.loop.index }

  /// The handler's route of this request, for counting: any number of the handler's own, 0 for none. Set it
  /// before the response or its deferral.
  public var route: UInt8 {
    get { framing.route }
    set { framing.route = newValue }
  }

  /// Whether the content is still to come; see `RequestHandler.judge`.
  public let isEarly: Bool

  /// What judging the head of this request found out and `handle` need not find out again; nil if its head was not judged.
  public var finding: (any Sendable)? {
    get { connection.isJudged ? connection.finding : nil }
    nonmutating set { connection.finding = newValue }
  }

  private let connection: Connection
  private(set) var framing: AnswerFraming
  private(set) var state = State.open

  init(
    requestID: RequestID, now: MonotonicTime, framing: AnswerFraming, connection: Connection,
    isEarly: Bool = false
  ) {
    self.isEarly = isEarly
    self.requestID = requestID
    self.now = now
    self.framing = framing
    self.connection = connection
  }

  /// Adds fields to the response of handler, responder or server. Replaces earlier ones. Call it before the
  /// response or its deferral.
  public mutating func put(_ fields: PreparedFields?) { framing.fields = fields }

  /// Closes the connection after the response of handler, responder or server. Call it before the response or
  /// its deferral.
  public mutating func closeAfterAnswer() { framing.serverCloses = true }

  /// Answers now.
  public mutating func respond(_ response: Response) {
    guard state == .open, mayLeave(response.status) else { return }
    state = .answered
    connection.answer(response, requestID, framing)
  }

  /// Responds now with a serialised response.
  public mutating func respond(_ response: PreparedResponse) {
    guard state == .open, mayLeave(response.status) else { return }
    state = .answered
    connection.answer(response, requestID, framing)
  }

  /// Before the content, only a refusal may.
  private func mayLeave(_ status: Status) -> Bool { !isEarly || status.code >= 400 }

  /// Closes the connection without a response, as a server does that breaks down. Unsent responses to earlier requests are lost with it.
  public mutating func closeUnanswered() {
    guard state == .open else { return }
    state = .answered
    connection.close()
  }

  /// Sends the head and the first half of the content, and closes the connection, as a server does that breaks down in the middle of
  /// a response.
  public mutating func respondCutOff(_ response: Response) {
    guard state == .open else { return }
    state = .answered
    connection.answerCutOff(response, requestID, framing)
  }

  /// Whether one more request may be deferred: as many may be as connections may be open. Requests whose clients have left
  /// count until their work has ended, so a client cannot leave more work behind than it could wait for.
  public var mayDefer: Bool {
    connection.worker.state.deferred.load(ordering: .relaxed) < connection.worker.limits.connections
  }

  /// Defers the response. The connection reads nothing meanwhile, so at most one request is with a handler. Check `mayDefer` before,
  /// and respond with 503 if it is false.
  public mutating func deferred() -> Responder {
    precondition(state == .open, "answered or deferred already")
    state = .deferred
    let presence = ClientPresence()
    connection.presence = presence
    return Responder(
      requestID: requestID,
      pending: PendingAnswer(
        worker: connection.worker, token: connection.token, requestID: requestID, framing: framing,
        presence: presence))
  }
}

/// The request's effects on the form of its response, and its values for counters.
struct AnswerFraming: Sendable {
  /// The request's method; `other` where it is not known.
  var method: Method
  /// The client ends the connection after the answer.
  var clientCloses: Bool
  /// The handler ends it after the answer.
  var serverCloses = false
  /// Fields besides the answer's own.
  var fields: PreparedFields?
  /// When the request was whole; nil where it never was.
  var start: MonotonicTime?
  /// The route that the handler set.
  var route: UInt8 = 0

  /// The answer to HEAD has no content.
  var isHead: Bool { method == .head }
}
