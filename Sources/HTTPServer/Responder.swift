// Lets a handler respond later from any thread, and notice when the client disconnects.

public import HTTP
import Platform
import Synchronization

/// The means to respond to one request later, from any thread.
public struct Responder: Sendable {
  /// The request's id.
  public let requestID: RequestID
  private let pending: PendingAnswer

  init(requestID: RequestID, pending: PendingAnswer) {
    self.requestID = requestID
    self.pending = pending
  }

  /// Responds. Only the first response counts. Later ones are dropped, and so is a response whose client is
  /// gone.
  public func respond(_ response: Response) { pending.respond(.whole(response)) }

  /// Responds with a serialized response.
  public func respond(_ response: PreparedResponse) { pending.respond(.prepared(response)) }

  /// Sends a part of the response and closes the connection; see `Exchange.respondCutOff`.
  public func respondCutOff(_ response: Response) { pending.respond(.cutOff(response)) }

  /// Closes the connection without a response; see `Exchange.closeUnanswered`.
  public func closeUnanswered() { pending.closeUnanswered() }

  /// Accepts the head: the server reads the request's content and calls `handle`. Only for a judgment that
  /// was deferred.
  ///
  /// - Parameter finding: See `Exchange.finding`.
  public func proceed(_ finding: (any Sendable)? = nil) { pending.proceed(finding) }

  /// Calls a function on the connection's loop, with the means to respond that `RequestHandler.handle` had.
  /// The function must not block the loop.
  public func resume(_ body: @escaping @Sendable (inout Exchange) -> Void) { pending.resume(body) }

  /// Sends octets unchanged, for a response in pieces: first its head, then its content, which ends with the
  /// connection. End it with `closeUnanswered`, which discards unsent octets. No other response may follow.
  /// After any response, pieces are dropped.
  public func send(_ octets: [UInt8]) { pending.send(octets) }

  /// Calls a function once if the connection closes before the request is answered. The function runs on the
  /// connection's loop, which it must not block, or at once if the connection has closed already. A later
  /// call replaces the function of an earlier one.
  ///
  /// A client that has only finished writing may still read, so it counts as present.
  public func whenClientLeaves(_ body: @escaping @Sendable () -> Void) {
    pending.presence.whenClientLeaves(body)
  }

  /// Calls a function once if the connection closes, or the client finishes writing, before the request is
  /// answered. The function runs on the connection's loop, which it must not block, or at once if that has
  /// happened already. For a request that only waits: its client gets the response early if it still reads.
  public func whenClientFinishes(_ body: @escaping @Sendable () -> Void) {
    pending.presence.whenClientFinishes(body)
  }

  /// Whether the client may no longer read a response: the connection has closed, or the client has finished
  /// writing. To the kernel, a client that has closed its end looks the same as one that still reads.
  public var mayClientHaveLeft: Bool { pending.presence.mayHaveLeft }
}

/// A response passed to a `Responder`.
enum DeferredAnswer: Sendable {
  case whole(Response)
  case prepared(PreparedResponse)
  /// Only the head and half of the content are sent.
  case cutOff(Response)

  var status: Status {
    switch self {
    case .whole(let response), .cutOff(let response): response.status
    case .prepared(let response): response.status
    }
  }
}

/// Whether the client of a deferred request is still connected. The connection reports that it closed. The
/// responder reports that the request is answered.
final class ClientPresence: Sendable {
  private enum State: Sendable {
    case present((@Sendable () -> Void)?)
    case left
    case answered
  }

  private let state = Mutex(State.present(nil))
  /// Whether the client has finished writing. Until then, it contains the function to call.
  private enum Finish: Sendable {
    case awaited((@Sendable () -> Void)?)
    case happened
  }
  private let finish = Mutex(Finish.awaited(nil))

  func whenClientLeaves(_ body: @escaping @Sendable () -> Void) {
    let hasLeft = state.withLock { state in
      switch state {
      case .present:
        state = .present(body)
        return false
      case .left: return true
      case .answered: return false
      }
    }
    if hasLeft { body() }
  }

  func whenClientFinishes(_ body: @escaping @Sendable () -> Void) {
    let hasFinished = finish.withLock { finish in
      if case .happened = finish { return true }
      finish = .awaited(body)
      return false
    }
    if hasFinished { body() }
  }

  var mayHaveLeft: Bool { finish.withLock { if case .happened = $0 { true } else { false } } }

  /// Reports that the client has finished writing.
  func finished() {
    let body = finish.withLock { finish -> (@Sendable () -> Void)? in
      guard case .awaited(let body) = finish else { return nil }
      finish = .happened
      return body
    }
    body?()
  }

  /// Reports that the connection has closed.
  func left() {
    finished()
    let body = state.withLock { state -> (@Sendable () -> Void)? in
      guard case .present(let body) = state else { return nil }
      state = .left
      return body
    }
    body?()
  }

  /// Reports that the request is answered, so that no function is called after this.
  func answered() {
    state.withLock { $0 = .answered }
    finish.withLock { if case .awaited = $0 { $0 = .awaited(nil) } }
  }
}

/// The response that all copies of a `Responder` share. If the last copy is released without a response,
/// the client gets 500, so that it does not wait for a forgotten request until a timeout.
///
/// `@unchecked Sendable`: all stored properties are immutable, atomic or locked. The worker is only used on
/// its own loop.
final class PendingAnswer: @unchecked Sendable {
  private let worker: Worker
  private let token: EventToken
  private let requestID: RequestID
  private let framing: AnswerFraming
  let presence: ClientPresence
  private let isAnswered = Atomic<Bool>(false)

  init(
    worker: Worker, token: EventToken, requestID: RequestID, framing: AnswerFraming, presence: ClientPresence
  ) {
    self.worker = worker
    self.token = token
    self.requestID = requestID
    self.framing = framing
    self.presence = presence
    worker.state.deferred.add(1, ordering: .relaxed)
  }

  /// Marks the request as answered. True for the first call only. The request stops counting as deferred
  /// here, before its client can send another.
  private func isFirst() -> Bool {
    guard !isAnswered.exchange(true, ordering: .acquiringAndReleasing) else { return false }
    worker.state.deferred.subtract(1, ordering: .relaxed)
    presence.answered()
    return true
  }

  func respond(_ answer: DeferredAnswer) {
    guard isFirst() else { return }
    worker.loop.execute { [worker, token, requestID, framing] in
      guard let connection = worker.connection(token) else { return worker.count(answer.status, framing) }
      connection.deliver(answer, requestID, framing)
    }
  }

  func proceed(_ finding: (any Sendable)?) {
    guard isFirst() else { return }
    worker.loop.execute { [worker, token] in worker.connection(token)?.proceed(finding) }
  }

  func resume(_ body: @escaping @Sendable (inout Exchange) -> Void) {
    guard isFirst() else { return }
    worker.loop.execute { [worker, token, requestID, framing] in
      worker.connection(token)?.resume(requestID, framing, body)
    }
  }

  func send(_ octets: [UInt8]) {
    guard !isAnswered.load(ordering: .acquiring) else { return }
    worker.loop.execute { [worker, token] in worker.connection(token)?.deliverPiece(octets) }
  }

  func closeUnanswered() {
    guard isFirst() else { return }
    worker.loop.execute { [worker, token] in worker.connection(token)?.abandon() }
  }

  deinit {
    guard isFirst() else { return }
    worker.loop.execute { [worker, token, requestID, framing] in
      worker.connection(token)?.deliverNothing(requestID, framing)
    }
  }
}
