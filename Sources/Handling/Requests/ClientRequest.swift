// The data of a client's request from its start to its response. Also records and answers refusals.

package import API
import Callers
package import HTTP
package import HTTPServer
package import Platform
package import Records
package import Serving

/// A client's request, from its start to its response.
package struct ClientRequest: Sendable {
  /// The configuration that serves the request, even after a reload.
  package let generation: Generation
  package let address: IPAddress
  /// The request's ID and trace, for log lines and requests upstream.
  package let context: RequestContext
  /// The time when the request was complete, or when its head was checked.
  package let start: MonotonicTime
  /// The index of the event loop that received the request.
  package let lane: Int
  /// Whether the response may wait for a task; false if too many requests wait already.
  package let mayWait: Bool
  /// The response form of another API; nil for this server's own API.
  package let form: ResponseForm?
  /// The number of times that the request was evaluated again after a wait.
  var round = 0

  /// Starts an audit line for the request.
  package func record(of action: AuditedAction) -> AuditRecord {
    var record = AuditRecord(
      action: action, requestID: context.requestID, address: address, trace: context.trace)
    record.via = form?.via
    return record
  }
}

/// Work for a client's request, with access to the request's data.
package protocol ForClient: Sendable {
  var client: ClientRequest { get }
}

extension ForClient {
  package var generation: Generation { client.generation }
  package var address: IPAddress { client.address }
  package var context: RequestContext { client.context }
  package var start: MonotonicTime { client.start }
  package var lane: Int { client.lane }
  package var mayWait: Bool { client.mayWait }
}

extension Handlers {
  /// Describes a request that the current configuration serves.
  package func client(
    _ request: borrowing Request, _ exchange: borrowing Exchange, form: ResponseForm? = nil
  ) -> ClientRequest {
    let generation = generations.current
    // The compiler's own initializer: one that is written out copies the result.
    return ClientRequest(
      generation: generation, address: generation.clientAddress.resolve(request, peer: exchange.peer.address),
      context: RequestContext(requestID: exchange.requestID, trace: TraceContext(request)),
      start: exchange.now, lane: exchange.loopIndex, mayWait: exchange.mayDefer, form: form)
  }

  /// Writes the audit line of a refusal, if the request has one, and makes the response.
  package func refuse(
    _ client: ClientRequest, _ record: AuditRecord?, _ problem: Problem
  ) -> PreparedResponse {
    if var record {
      record.callback = record.callback ?? problem.id
      if problem.isUnread { record.reason = AuditRecord.clientLeft }
      record.outcome = problem.code.isError ? .error : .deny
      record.code = problem.code
      record.rule = problem.ownRule ?? problem.rule
      record.retryAfter = problem.retryAfter
      audit.append(record, since: client.start, lane: client.lane)
    }
    guard let form = client.form else {
      return PreparedResponse(problem.response(requestID: client.context.requestID))
    }
    return PreparedResponse(form.problem(problem, client.context.requestID))
  }
}
