// Makes the responses to callback requests and writes their audit records first.

import API
import Delivery
import Gate
import HTTP
import HTTPServer
import Records
import Store

extension Gateway {
  /// The answer to a callback that was carried out.
  func response(to pending: PendingResponse, _ result: OriginationResult) -> PreparedResponse {
    var calling = pending.calling
    calling.record.cache = result.cache
    calling.record.upstreamStatus = result.upstreamStatus
    switch result.outcome {
    case .refused(let problem): return refuse(&calling, problem)
    case .replay(let record, let stored): return replay(&calling, record, stored)
    case .accepted(let id, let content):
      calling.record.callback = id.description
      return answer(&calling, CallbackDocument.created(id, content: content), pending.statuses)
    }
  }

  /// Answers as the first request with the key was answered.
  func replay(
    _ calling: inout Calling, _ record: StoredCallback, _ stored: StoredAnswer?
  ) -> PreparedResponse {
    calling.record.callback = record.id.description
    calling.record.isReplay = true
    guard let stored else {
      // The process that could have said more has ended.
      var problem = Problem.outcomeLost
      problem.id = record.id.description
      return refuse(&calling, problem)
    }
    if stored.status == Status.created.code {
      return answer(&calling, CallbackDocument.created(record.id, content: stored.content), [])
    }
    let code = record.code.flatMap(Problem.Code.init(rawValue:)) ?? .outcomeUnknown
    note(code, rule: nil, &calling)
    return PreparedResponse(
      Response(status: code.status, fields: Problem.headFields, content: stored.content))
  }

  /// Writes the record of a success, before it leaves, and makes its answer.
  func answer(
    _ calling: inout Calling, _ response: Response, _ statuses: [AllowanceStatus]
  ) -> PreparedResponse {
    audit.append(calling.record, since: calling.start, lane: calling.lane)
    var response = response
    response.fields.append(allowances: statuses)
    return PreparedResponse(response)
  }

  /// Writes the record of a refusal and makes its answer.
  func refuse(_ calling: inout Calling, _ problem: Problem) -> PreparedResponse {
    if let id = problem.id { calling.record.callback = id }
    if problem.isUnread { calling.record.reason = AuditRecord.clientLeft }
    note(problem.code, rule: problem.rule, &calling)
    return PreparedResponse(problem.response(requestID: calling.record.requestID))
  }

  private func note(_ code: Problem.Code, rule: String?, _ calling: inout Calling) {
    calling.record.outcome = code.isError ? .error : .deny
    calling.record.code = code
    calling.record.rule = rule
    audit.append(calling.record, since: calling.start, lane: calling.lane)
  }
}
