// Ties a task to its request, so that log lines and outgoing requests carry the request's IDs.

package import HTTP
package import HTTPServer

/// The ids and the trace of a request, for its log lines and its requests upstream.
package struct RequestContext: Sendable {
  package let requestID: RequestID
  /// The client's trace, if it sent a valid one.
  package let trace: TraceContext?

  package init(requestID: RequestID, trace: TraceContext?) {
    self.requestID = requestID
    self.trace = trace
  }

  /// The request that the current task works for, if any.
  @TaskLocal package static var current: RequestContext?

  /// Starts a task for the request.
  @discardableResult
  package func task(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task { await Self.$current.withValue(self) { await body() } }
  }

  /// Starts a task that answers the request. The task is canceled when the client closes the connection.
  ///
  /// A task may end before its request is answered, for example while a callback waits for Talkdesk. The
  /// responder then releases the task, because a finished task keeps all its memory as long as it is
  /// referenced.
  package func task(answering responder: Responder, _ body: @escaping @Sendable () async -> Void) {
    let task = task {
      await body()
      responder.whenClientLeaves {}
    }
    responder.whenClientLeaves { task.cancel() }
  }
}
