// Work that has an audit line: what it knows from there, and how a refusal is recorded and answered.

package import API
package import HTTP
package import Platform
package import Records

/// The work for a request that has an audit line.
package protocol AuditedWork: RequestWork {
  /// When the request was whole.
  var start: MonotonicTime { get }
  /// The loop it came on.
  var lane: Int { get }
  var record: AuditRecord { get set }
  /// The form of another interface; nil for this server's own.
  var form: ResponseForm? { get }
}

extension AuditedWork {
  package var form: ResponseForm? { nil }
  package var address: IPAddress { record.clientAddress }
  package var context: RequestContext { RequestContext(requestID: record.requestID, trace: record.trace) }

  package func refuse(_ problem: Problem, because reason: String?, at handlers: Handlers) -> PreparedResponse
  {
    var work = self
    work.record.reason = reason
    return handlers.refuse(&work, problem)
  }
}

extension Handlers {
  /// Writes the record of a refusal and makes its answer.
  package func refuse(_ work: inout some AuditedWork, _ problem: Problem) -> PreparedResponse {
    if let id = problem.id { work.record.callback = id }
    if problem.isUnread { work.record.reason = AuditRecord.clientLeft }
    work.record.outcome = problem.code.isError ? .error : .deny
    work.record.code = problem.code
    work.record.rule = problem.rule
    work.record.retryAfter = problem.retryAfter
    audit.append(work.record, since: work.start, lane: work.lane)
    guard let form = work.form else {
      return PreparedResponse(problem.response(requestID: work.record.requestID))
    }
    return PreparedResponse(form.problem(problem, work.record.requestID))
  }
}
