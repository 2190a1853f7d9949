// Audits and logs requests that got no response from a handler: those that the server refused as malformed,
// too large or too slow, those beyond the connection limit, and those that a handler left unanswered.

import API
import Callers
import Gate
import HTTP
import HTTPServer
import Handling
import Platform
import Records
import Serving

extension Gateway {
  /// Writes the audit line of a refused request. If the request line was read, the request counts as one to
  /// that path, whatever came after the line.
  func auditRefusal(_ code: Problem.Code, _ refused: RefusedRequest) {
    guard let request = refused.request,
      let action = Route(request).endpoint?.action(audited: request.method)
    else { return }
    var record = AuditRecord(action: action, requestID: refused.requestID, address: refused.peer.address)
    // A proxy may name its client in a field. Use the address only if the fields were read.
    if refused.hasFields {
      record.address = generations.current.clientAddress.resolve(request, peer: refused.peer.address)
      record.trace = TraceContext(request)
    }
    record.outcome = code.isError ? .error : .deny
    record.code = code
    audit.append(record, since: refused.now, lane: refused.loopIndex)
  }

  /// Logs a refusal, so that an operator can find a client's mistake. A request without a response is this
  /// server's own fault.
  func logRefusal(_ failure: RequestFailure, _ code: Problem.Code, _ refused: RefusedRequest) {
    let isOurs = failure == .unanswered
    let level: LogSettings.Level = isOurs ? .error : .debug
    guard log.isEnabled(level) else { return }
    let trace = refused.hasFields ? refused.request.flatMap { TraceContext($0) } : nil
    RequestContext.$current.withValue(RequestContext(requestID: refused.requestID, trace: trace)) {
      log.write(
        level, isOurs ? "a request got no response" : "a request was refused before it was complete",
        [
          "error.type": code.rawValue, "address": "\(refused.peer.address)",
          "http.route": Route.labels[Int(refused.route)],
          "http.request.method": refused.request?.method.rawValue ?? "",
        ])
    }
  }
}
