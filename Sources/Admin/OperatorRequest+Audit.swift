// The audit lines of operators' requests.

package import API
package import Gate
package import HTTPServer
package import Platform
package import Records
import Store

/// The audit line of one request, before its outcome is known.
struct OperatorLine: Sendable {
  var record: AuditRecord
  private let start: MonotonicTime
  private let lane: Int

  fileprivate init(_ record: AuditRecord, _ exchange: borrowing Exchange) {
    self.record = record
    (start, lane) = (exchange.now, exchange.loopIndex)
  }

  /// Writes the line.
  /// - Parameter code: The problem's code if the request failed or was refused; nil if it succeeded.
  func append(to audit: AuditLog, _ code: Problem.Code? = nil) {
    var record = record
    if let code { (record.outcome, record.code) = (code.isError ? .error : .deny, code) }
    audit.append(record, since: start, lane: lane)
  }
}

extension OperatorRequest {
  /// Starts the audit line of the request.
  func line(_ action: AuditedAction, _ exchange: borrowing Exchange) -> OperatorLine {
    var record = AuditRecord(action: action, requestID: context.requestID, address: address)
    (record.trace, record.by) = (context.trace, by.identity)
    return OperatorLine(record, exchange)
  }
}

extension Administration {
  /// Refuses a request that goes beyond the operator's role, and writes its audit line.
  package func refuse(
    _ identity: Operator.Identity, _ role: Operator.Role?, needing needed: Operator.Role,
    _ action: AuditedAction, from address: IPAddress, _ context: RequestContext, _ exchange: inout Exchange
  ) {
    var record = AuditRecord(action: action, requestID: context.requestID, address: address)
    (record.trace, record.by) = (context.trace, identity)
    OperatorLine(record, exchange).append(to: audit, .denied)
    let own = role.map { "has the role \($0.rawValue)" } ?? "has no role"
    let problem = Problem(
      .denied, "This takes the role \(needed.rawValue). The operator \(identity.name) \(own).")
    exchange.respond(problem.response(requestID: exchange.requestID))
  }
}

extension Stop {
  /// The reason in an audit line: action, target, and the operator's own reason.
  var auditedChange: String {
    let (scope, id) = target.parts
    return "\(action.rawValue) for \(id.isEmpty ? scope : "\(scope) \(id)")"
      + (reason.map { ": \($0)" } ?? "")
  }
}
