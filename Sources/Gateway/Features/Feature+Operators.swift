// Endpoints for health, metrics and operators.

import API
import Admin
import HTTP
import HTTPServer
import Handling
import Installations
import Records
import Serving

extension Feature {
  /// The feature with the endpoints for health, metrics and operators.
  static let operators = Feature(
    endpoints: [
      ServedEndpoint("/livez", "/healthz", for: .everybody, .health(.liveness) { _ in Health.alive }),
      ServedEndpoint("/readyz", for: .everybody, .health(.readiness) { PreparedResponse($0.readiness()) }),
      ServedEndpoint("/metrics", for: .operators, .operators(.metrics) { $0.showMetrics($2, &$3) }),
      ServedEndpoint("/admin/", for: .operators, .page(.operatorPage)),
      ServedEndpoint(
        "/admin/status", for: .operators, auditing: .handled([.read]),
        .operators(.adminStatus) { (administration, request, operators, exchange) throws(Problem) in
          try administration.showStatus(request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/stop", for: .operators, auditing: .handled([.stop]),
        .operators(.adminStop) { (administration, request, operators, exchange) throws(Problem) in
          try administration.stop(request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/resume", for: .operators, auditing: .handled([.resume]),
        .operators(.adminResume) { (administration, request, operators, exchange) throws(Problem) in
          try administration.resume(request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/reload", for: .operators, auditing: .handled([.reload]),
        .operators(.adminReload) { $0.reload($2, &$3) }),
      ServedEndpoint(
        "/admin/explain", for: .operators,
        .operators(.adminExplain) { (administration, request, operators, exchange) throws(Problem) in
          try administration.explain(request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/decisions", for: .operators,
        .operators(.adminDecisions) { (administration, request, operators, exchange) throws(Problem) in
          try administration.showDecisions(request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/callbacks", for: .operators,
        .operators(.adminCallbacks) { (administration, request, operators, exchange) throws(Problem) in
          try administration.listCallbacks(request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/installations", for: .operators,
        .operators(.adminInstallations) { (administration, request, operators, exchange) throws(Problem) in
          try administration.listInstallations(request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/installations/find", for: .operators,
        .operators(.adminFindInstallation) { (administration, request, operators, exchange) throws(Problem) in
          try administration.findInstallation(request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/installations/approve", for: .operators, auditing: .known(.approve),
        .operators(.adminApproveInstallation) {
          (administration, request, operators, exchange) throws(Problem) in
          try administration.judgeInstallation(.approve, request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/installations/deny", for: .operators, auditing: .known(.deny),
        .operators(.adminDenyInstallation) { (administration, request, operators, exchange) throws(Problem) in
          try administration.judgeInstallation(.deny, request, operators, &exchange)
        }),
      ServedEndpoint(
        "/admin/installations/revoke", for: .operators, auditing: .known(.revoke),
        .operators(.adminRevokeInstallation) {
          (administration, request, operators, exchange) throws(Problem) in
          try administration.revokeInstallation(request, operators, &exchange)
        }),
    ]) { wiring in
      [
        Part(name: "activity", work: wiring.activity.keepRead),
        Part(name: "attention", work: wiring.attention.keepRead),
      ]
    }
}
