public import HTTP
internal import Platform
internal import Synchronization

/// The right to answer one request later, from any thread.
public struct Responder: Sendable {
  /// The request's id.
  public let requestID: RequestID
  private let pending: PendingAnswer

  init(requestID: RequestID, pending: PendingAnswer) {
    self.requestID = requestID
    self.pending = pending
  }

  /// Answers. The first answer counts, later ones are dropped, and so is an answer whose client is gone.
  public func respond(_ response: Response) { pending.respond(response) }

  /// Answers with a response that stands serialised.
  public func respond(_ response: PreparedResponse) { pending.respond(response) }

  /// Answers a part and closes the connection; see `Exchange.respondCutOff`.
  public func respondCutOff(_ response: Response) { pending.respondCutOff(response) }

  /// Closes the connection and answers nothing; see `Exchange.closeUnanswered`.
  public func closeUnanswered() { pending.closeUnanswered() }
}

/// The one answer a `Responder`'s copies share. When the last copy goes and nobody has answered, the answer is 500: a
/// forgotten request must not hold its client until some time-out.
///
/// `@unchecked Sendable`: all stored properties are immutable or atomic; the worker is only handed to its own loop.
final class PendingAnswer: @unchecked Sendable {
  private let worker: Worker
  private let token: EventToken
  private let requestID: RequestID
  private let framing: AnswerFraming
  private let isAnswered = Atomic<Bool>(false)

  init(worker: Worker, token: EventToken, requestID: RequestID, framing: AnswerFraming) {
    self.worker = worker
    self.token = token
    self.requestID = requestID
    self.framing = framing
  }

  func respond(_ response: Response) {
    guard !isAnswered.exchange(true, ordering: .acquiringAndReleasing) else { return }
    worker.loop.execute { [worker, token, requestID, framing] in
      guard let connection = worker.connection(token) else { return worker.count(response.status, framing) }
      connection.deliver(response, requestID, framing)
    }
  }

  func respond(_ response: PreparedResponse) {
    guard !isAnswered.exchange(true, ordering: .acquiringAndReleasing) else { return }
    worker.loop.execute { [worker, token, requestID, framing] in
      guard let connection = worker.connection(token) else { return worker.count(response.status, framing) }
      connection.deliver(response, requestID, framing)
    }
  }

  func respondCutOff(_ response: Response) {
    guard !isAnswered.exchange(true, ordering: .acquiringAndReleasing) else { return }
    worker.loop.execute { [worker, token, requestID, framing] in
      guard let connection = worker.connection(token) else { return worker.count(response.status, framing) }
      connection.deliverCutOff(response, requestID, framing)
    }
  }

  func closeUnanswered() {
    guard !isAnswered.exchange(true, ordering: .acquiringAndReleasing) else { return }
    worker.loop.execute { [worker, token] in worker.connection(token)?.abandon() }
  }

  deinit {
    guard !isAnswered.load(ordering: .acquiring) else { return }
    worker.loop.execute { [worker, token, requestID, framing] in
      worker.connection(token)?.deliverNothing(requestID, framing)
    }
  }
}
