// The table of all endpoints that the server has.

import API
import Admin
import Gate
import HTTP
import HTTPServer
import Installations
import Responses
import Serving

extension Endpoint {
  /// The facts of every endpoint, in the order of the table.
  static let all = ServedEndpoint.table.map(\.endpoint)
}

extension ServedEndpoint {
  /// Every endpoint, in the order in which paths are compared.
  static let table: [ServedEndpoint] = [
    ServedEndpoint(
      "/access", for: .apps, auditing: .every(.access),
      .gateway(.access) { gateway, request, _, exchange in
        gateway.vend(as: AccessForm(request), app: request.queryItem("app"), request, &exchange)
      }),
    ServedEndpoint(
      "/access/claim", for: .apps, auditing: .known(.access),
      .gateway(.claim) { gateway, request, _, exchange in gateway.claimToken(request, &exchange) }),
    ServedEndpoint(
      "/token/{app}", for: .apps, auditing: .every(.access),
      .gateway(.token) { gateway, request, parameters, exchange in
        // A name that does not decode is no app's name.
        let app = request.percentDecoded(parameters[0]).map { Request.QueryItem.value($0) } ?? .malformed
        gateway.vend(as: .stock, app: app, request, &exchange)
      }),
    ServedEndpoint(
      "/calls/callback", for: .apps, auditing: .known(.callback),
      .gateway(.callbacks) { gateway, request, _, exchange in gateway.call(request, &exchange) }),
    ServedEndpoint(
      "/callbacks", for: .apps, auditing: .some([.post: .callback]),
      .gateway(.callbackList) { gateway, request, _, exchange in gateway.listCallbacks(request, &exchange) },
      .gateway(.callbacks.alias(of: "/calls/callback")) { gateway, request, _, exchange in
        gateway.call(request, &exchange)
      }),
    // An id that does not decode is none, and finds nothing.
    ServedEndpoint(
      "/callbacks/{id}", for: .apps, auditing: .some([.patch: .change, .delete: .cancel]),
      .gateway(.callback) { gateway, request, parameters, exchange in
        gateway.showCallback(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      },
      .gateway(.cancelCallback) { gateway, request, parameters, exchange in
        gateway.cancelCallback(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      },
      .gateway(.changeCallback) { gateway, request, parameters, exchange in
        gateway.moveCallback(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      }),
    ServedEndpoint(
      "/tickets", for: .apps, auditing: .known(.ticket),
      .gateway(.tickets) { gateway, request, _, exchange in gateway.openTicket(request, &exchange) }),
    // An id that does not decode is none.
    ServedEndpoint(
      "/tickets/{id}", for: .apps,
      .gateway(.ticket) { gateway, request, parameters, exchange in
        gateway.showTicket(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      }),
    ServedEndpoint(
      "/availability", for: .apps, isKept: true,
      .gateway(.availability) { gateway, request, _, exchange in gateway.showAvailability(request, &exchange)
      }
    ),
    ServedEndpoint(
      "/fetch-code", for: .apps, auditing: .known(.enrol),
      .gateway(.fetchCode) { gateway, request, _, exchange in gateway.fetchCode(request, &exchange) }),
    ServedEndpoint(
      "/installations/self", for: .apps, auditing: .known(.revoke),
      .gateway(.revokeSelf) { gateway, request, _, exchange in gateway.revokeSelf(request, &exchange) }),
    ServedEndpoint(
      "/installations/self/push", for: .apps,
      .gateway(.registerDevice) { gateway, request, _, exchange in
        gateway.registerDevice(request, &exchange)
      },
      .gateway(.removeDevice) { gateway, request, _, exchange in gateway.removeDevice(request, &exchange) }),
    // An id that does not decode is none.
    ServedEndpoint(
      "/notices/{id}", for: .apps,
      .gateway(.notice) { gateway, request, parameters, exchange in
        gateway.showNotice(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      }),
    // An id or an action that does not decode is none.
    ServedEndpoint(
      "/genesys/1/service/{id}/{action}", for: .apps, auditing: .handled([.connect, .snooze, .cancel]),
      .gateway(.dialog) { gateway, request, parameters, exchange in
        gateway.answerDialog(
          request.percentDecoded(parameters[0]) ?? "", request.percentDecoded(parameters[1]) ?? "", request,
          &exchange)
      }),
    ServedEndpoint(
      "/codes/verify", for: .apps, auditing: .known(.verify),
      .gateway(.verifyCode) { gateway, request, _, exchange in gateway.verifyCode(request, &exchange) }),
    ServedEndpoint("/livez", "/healthz", for: .everybody, .health(.liveness) { _ in Health.alive }),
    ServedEndpoint("/readyz", for: .everybody, .health(.readiness) { PreparedResponse($0.readiness()) }),
    ServedEndpoint("/metrics", for: .operators, .operators(.metrics) { $0.showMetrics($2, &$3) }),
    ServedEndpoint("/admin/", for: .operators, .page(.operatorPage)),
    ServedEndpoint(
      "/admin/status", for: .operators,
      .operators(.adminStatus) { (administration, request, operators, exchange) throws(Problem) in
        try administration.showStatus(request, operators, &exchange)
      }),
    ServedEndpoint(
      "/admin/stop", for: .operators,
      .operators(.adminStop) { (administration, request, operators, exchange) throws(Problem) in
        try administration.stop(request, operators, &exchange)
      }),
    ServedEndpoint(
      "/admin/resume", for: .operators,
      .operators(.adminResume) { (administration, request, operators, exchange) throws(Problem) in
        try administration.resume(request, operators, &exchange)
      }),
    ServedEndpoint("/admin/reload", for: .operators, .operators(.adminReload) { $0.reload($2, &$3) }),
    ServedEndpoint(
      "/admin/explain", for: .operators,
      .operators(.adminExplain) { (administration, request, operators, exchange) throws(Problem) in
        try administration.explain(request, operators, &exchange)
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
      .operators(.adminRevokeInstallation) { (administration, request, operators, exchange) throws(Problem) in
        try administration.revokeInstallation(request, operators, &exchange)
      }),
    ServedEndpoint(
      "/", for: .everybody,
      .gateway(.landing) { _, request, _, exchange in
        exchange.respond(LandingPage.document.answer(to: request))
      }),
    ServedEndpoint(
      "/openapi.json", for: .everybody,
      .gateway(.openAPI) { gateway, request, _, exchange in
        exchange.respond(gateway.description.openAPI.answer(to: request))
      }),
    ServedEndpoint(
      "/docs", for: .everybody,
      .gateway(.docs) { gateway, request, _, exchange in
        exchange.respond(gateway.description.page.answer(to: request))
      }),
  ]
}
