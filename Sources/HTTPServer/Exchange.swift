// A request as the handler sees it: its context, and the ways to respond now, later or not at all.

public import HTTP
public import Platform
import Synchronization

/// The handler's access to a request: its ID, client and time, and the functions to respond.
///
/// Respond once, or take a `Responder` and respond later. Only the first response counts. If
/// `RequestHandler.handle` does neither, the server sends 500. If `RequestHandler.judge` does neither, the
/// server reads the content.
public struct Exchange: ~Copyable {
  enum State { case open, answered, deferred }

  /// The request's ID, which the server adds to the response.
  public let requestID: RequestID
  /// The address at the other end of the connection.
  public var peer: SocketAddress { connection.peer }
  /// The time when the request was complete, when its head was judged (`isEarly`), or when
  /// `Responder.resume` called its function.
  public let now: MonotonicTime
  /// The index of the connection's loop, among those that the server runs on.
  public var loopIndex: Int { connection.worker.loop.index }

  /// The number of the request's route, for counting. The handler chooses the numbers; 0 means none. Set it
  /// before the response or its deferral.
  public var route: UInt8 {
    get { framing.route }
    set { framing.route = newValue }
  }

  /// Whether the content has not arrived completely; see `RequestHandler.judge`.
  public let isEarly: Bool

  /// The result of judging this request's head, so that `handle` need not compute it again. Nil if the head
  /// was not judged.
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

  /// Adds fields to the response, whether the handler, a `Responder` or the server sends it. Replaces earlier
  /// ones. Call it before the response or its deferral.
  public mutating func put(_ fields: PreparedFields?) { framing.fields = fields }

  /// Closes the connection after the response, whether the handler, a `Responder` or the server sends it.
  /// Call it before the response or its deferral.
  public mutating func closeAfterAnswer() { framing.serverCloses = true }

  /// Responds now.
  public mutating func respond(_ response: Response) {
    guard state == .open, mayLeave(response.status) else { return }
    state = .answered
    connection.answer(response, requestID, framing)
  }

  /// Responds now with a serialized response.
  public mutating func respond(_ response: PreparedResponse) {
    guard state == .open, mayLeave(response.status) else { return }
    state = .answered
    connection.answer(response, requestID, framing)
  }

  /// Whether a response with this status may be sent: before the content has arrived, only a refusal may.
  private func mayLeave(_ status: Status) -> Bool { !isEarly || status.code >= 400 }

  /// Closes the connection without a response, as a crashing server does. Unsent responses to earlier
  /// requests are lost, too.
  public mutating func closeUnanswered() {
    guard state == .open else { return }
    state = .answered
    connection.close()
  }

  /// Sends the head and the first half of the content, and closes the connection, as a server does that
  /// crashes in the middle of a response.
  public mutating func respondCutOff(_ response: Response) {
    guard state == .open else { return }
    state = .answered
    connection.answerCutOff(response, requestID, framing)
  }

  /// Whether one more request may be deferred. The maximum is the limit on connections. Requests whose
  /// clients have left count until their work has ended, so a client cannot leave more work behind than it
  /// could wait for.
  public var mayDefer: Bool {
    connection.worker.state.deferred.load(ordering: .relaxed) < connection.worker.limits.connections
  }

  /// Defers the response. The connection reads nothing meanwhile, so at most one request of a connection is
  /// with its handler. Check `mayDefer` before, and respond with 503 if it is false.
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

/// The properties of a request that affect its response's form and its metrics.
struct AnswerFraming: Sendable {
  /// The request's method; `other` if it is not known.
  var method: Method
  /// Whether the client asked to close the connection after the response.
  var clientCloses: Bool
  /// Whether the server closes the connection after the response.
  var serverCloses = false
  /// Additional fields of the response.
  var fields: PreparedFields?
  /// The time when the request was complete, or when its head was judged; nil if the server itself refuses
  /// the client before the request is complete.
  var start: MonotonicTime?
  /// The route that the handler set.
  var route: UInt8 = 0

  /// Whether this is a response to HEAD, which has no content.
  var isHead: Bool { method == .head }
}
