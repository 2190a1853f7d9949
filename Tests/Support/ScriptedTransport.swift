// A fake network whose responses a test writes.

public import HTTP
import Synchronization

/// A transport that responds at once by a script, or by hand if the script holds the request.
public final class ScriptedTransport: HTTPTransport {
  public enum Answer: Sendable {
    case reply(InboundResponse)
    case fail(TransportError)
    /// Leaves the request open until `answer`.
    case hold
  }

  private struct State {
    var requests: [OutboundRequest] = []
    var held: [Int: CheckedContinuation<Answer, Never>] = [:]
  }

  private let state = Mutex(State())
  private let script: @Sendable (Int, OutboundRequest) -> Answer

  /// - Parameter script: called with each request and its number, from 0.
  public init(_ script: @escaping @Sendable (Int, OutboundRequest) -> Answer = { _, _ in .hold }) {
    self.script = script
  }

  /// Every request sent so far.
  public var requests: [OutboundRequest] { state.withLock { $0.requests } }
  public var count: Int { state.withLock { $0.requests.count } }
  /// The numbers of requests that wait for an answer.
  public var held: [Int] { state.withLock { $0.held.keys.sorted() } }

  /// Answers a held request. Waits for it if it has not been sent yet.
  public func answer(_ number: Int, _ answer: Answer) async throws {
    try await eventually { self.held.contains(number) }
    state.withLock { $0.held.removeValue(forKey: number) }?.resume(returning: answer)
  }

  public func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
    let number = state.withLock { state in
      state.requests.append(request)
      return state.requests.count - 1
    }
    var answer = script(number, request)
    if case .hold = answer { answer = await hold(number) }
    switch answer {
    case .reply(let reply): return reply
    case .fail(let error): throw error
    case .hold: throw TransportError(.cancelled, sent: true, detail: "given up")
    }
  }

  private func hold(_ number: Int) async -> Answer {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = state.withLock { state in
          if !Task.isCancelled { state.held[number] = continuation }
          return Task.isCancelled
        }
        if isCancelled { continuation.resume(returning: .hold) }
      }
    } onCancel: {
      state.withLock { $0.held.removeValue(forKey: number) }?.resume(returning: .hold)
    }
  }
}

extension ScriptedTransport.Answer {
  public static func status(_ status: Int, _ content: String = "", fields: Fields = [:]) -> Self {
    .reply(InboundResponse(status: status, fields: fields, content: Array(content.utf8)))
  }

  public static func lost(_ reason: TransportError.Reason = .connectionLost, sent: Bool = true) -> Self {
    .fail(TransportError(reason, sent: sent, detail: "scripted"))
  }
}
