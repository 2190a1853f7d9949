// The queue through which callers hand requests and cancellations to the transfer thread.

import HTTP
import Synchronization

/// The transfer thread's inbox: any thread adds to it under one lock, and the first entry wakes the thread.
final class TransferInbox: Sendable {
  /// A transfer to make, and the receiver of its result.
  struct Submission: Sendable {
    let ticket: Ticket
    let plan: TransferPlan
    let answer: @Sendable (Result<InboundResponse, TransportError>) -> Void
  }

  /// A message to the thread.
  enum Message: Sendable {
    case submit(Submission)
    case cancel(Ticket)
    case resume(Ticket)
    case found(name: String, NameCache.Result)
    case stop
  }

  private struct State {
    var messages: [Message] = []
    /// Whether further transfers are refused.
    var isClosed = false
    var isFinished = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let waker: CurlWaker

  init(waker: CurlWaker) { self.waker = waker }

  /// Hands a transfer over. False after the shutdown of the transport; then the caller must complete it.
  func submit(_ submission: Submission) -> Bool { post(.submit(submission)) }

  /// Cancels a transfer. No effect if it has ended.
  func cancel(_ ticket: Ticket) { post(.cancel(ticket)) }

  /// Resumes a paused response. No effect if it has ended.
  func resume(_ ticket: Ticket) { post(.resume(ticket)) }

  /// Delivers a lookup's result. No effect after shutdown.
  func found(_ name: String, _ result: NameCache.Result) { post(.found(name: name, result)) }

  /// Makes the thread end, and refuses further transfers.
  func stop() {
    let isFirst = state.withLock { state in
      guard !state.isClosed else { return false }
      state.isClosed = true
      state.messages.append(.stop)
      return true
    }
    if isFirst { waker.wake() }
  }

  /// Returns once the thread has ended.
  func finished() async {
    await withCheckedContinuation { continuation in
      let isFinished = state.withLock { state in
        if !state.isFinished { state.waiters.append(continuation) }
        return state.isFinished
      }
      if isFinished { continuation.resume() }
    }
  }

  /// Removes and returns all messages, for the transfer thread.
  func take() -> [Message] {
    state.withLock { state in
      defer { state.messages = [] }
      return state.messages
    }
  }

  /// Resumes the tasks that wait in `finished`. Called once, after the thread's work has ended.
  func finish() {
    let waiters = state.withLock { state in
      state.isFinished = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  @discardableResult private func post(_ message: Message) -> Bool {
    let (isTaken, isFirst) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      state.messages.append(message)
      return (true, state.messages.count == 1)
    }
    if isFirst { waker.wake() }
    return isTaken
  }
}
