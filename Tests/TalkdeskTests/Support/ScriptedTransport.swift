// A fake network that responds to token requests as a test says.

import HTTP
import Synchronization
import TestSupport

/// A network on which the test answers: at once by a script, or by hand where the script holds a request.
final class ScriptedTransport: HTTPTransport {
  enum Answer: Sendable {
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

  /// - Parameter script: gets each request with its number, from 0.
  init(_ script: @escaping @Sendable (Int, OutboundRequest) -> Answer = { _, _ in .hold }) {
    self.script = script
  }

  /// Everything sent so far.
  var requests: [OutboundRequest] { state.withLock { $0.requests } }
  var count: Int { state.withLock { $0.requests.count } }
  /// The numbers of requests that wait for an answer.
  var held: [Int] { state.withLock { $0.held.keys.sorted() } }

  /// Answers a held request, once it is there.
  func answer(_ number: Int, _ answer: Answer) async throws {
    try await until { self.held.contains(number) }
    state.withLock { $0.held.removeValue(forKey: number) }?.resume(returning: answer)
  }

  func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
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
  /// A token reply as Talkdesk's.
  static func token(_ token: String, expiresIn: String? = "600", scope: String? = "callback:write") -> Self {
    var members = ["\"access_token\":\"\(token)\"", "\"token_type\":\"Bearer\""]
    if let expiresIn { members.append("\"expires_in\":\(expiresIn)") }
    if let scope { members.append("\"scope\":\"\(scope)\"") }
    return status(200, "{\(members.joined(separator: ","))}")
  }

  static func status(_ status: Int, _ content: String = "", fields: Fields = [:]) -> Self {
    .reply(InboundResponse(status: status, fields: fields, content: Array(content.utf8)))
  }

  static func lost(_ reason: TransportError.Reason = .connectionLost, sent: Bool = true) -> Self {
    .fail(TransportError(reason, sent: sent, detail: "scripted"))
  }
}
