// The table of all endpoints that the server has.

import API
import Admin
import CallbackHandlers
import GMS
import Gate
import HTTP
import HTTPServer
import Handling
import Installations
import Pages
import Responses
import Serving
import TicketHandlers

extension Endpoint {
  /// The facts of every endpoint, in the order of the table.
  static let all = ServedEndpoint.table.map(\.endpoint)
}

extension ServedEndpoint {
  /// Every endpoint, in the order in which paths are compared.
  static let table: [ServedEndpoint] = [
    ServedEndpoint(
      "/access", for: .apps, auditing: .every(.access),
      .clients(.access) { handlers, request, _, exchange in
        handlers.vend(as: AccessForm(request), app: request.queryItem("app"), request, &exchange)
      }),
    ServedEndpoint(
      "/access/claim", for: .apps, auditing: .known(.access),
      .clients(.claim) { handlers, request, _, exchange in handlers.claimToken(request, &exchange) }),
    ServedEndpoint(
      "/token/{app}", for: .apps, auditing: .every(.access),
      .clients(.token) { handlers, request, parameters, exchange in
        // A name that does not decode is no app's name.
        let app = request.percentDecoded(parameters[0]).map { Request.QueryItem.value($0) } ?? .malformed
        handlers.vend(as: .stock, app: app, request, &exchange)
      }),
    ServedEndpoint(
      "/calls/callback", for: .apps, auditing: .known(.callback),
      .clients(.callbacks) { handlers, request, _, exchange in handlers.call(request, &exchange) }),
    ServedEndpoint(
      "/callbacks", for: .apps, auditing: .some([.post: .callback]),
      .clients(.callbackList) { handlers, request, _, exchange in handlers.listCallbacks(request, &exchange)
      },
      .clients(.callbacks.alias(of: "/calls/callback")) { handlers, request, _, exchange in
        handlers.call(request, &exchange)
      }),
    // An id that does not decode is none, and finds nothing.
    ServedEndpoint(
      "/callbacks/{id}", for: .apps, auditing: .some([.patch: .change, .delete: .cancel]),
      .clients(.callback) { handlers, request, parameters, exchange in
        handlers.showCallback(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      },
      .clients(.cancelCallback) { handlers, request, parameters, exchange in
        handlers.cancelCallback(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      },
      .clients(.changeCallback) { handlers, request, parameters, exchange in
        handlers.moveCallback(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      }),
    ServedEndpoint(
      "/tickets", for: .apps, auditing: .known(.ticket),
      .clients(.tickets) { handlers, request, _, exchange in handlers.openTicket(request, &exchange) }),
    // An id that does not decode is none.
    ServedEndpoint(
      "/tickets/{id}", for: .apps,
      .clients(.ticket) { handlers, request, parameters, exchange in
        handlers.showTicket(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      }),
    ServedEndpoint(
      "/availability", for: .apps, isKept: true,
      .clients(.availability) { handlers, request, _, exchange in
        handlers.showAvailability(request, &exchange)
      }
    ),
    ServedEndpoint(
      "/fetch-code", for: .apps, auditing: .known(.enrol),
      .clients(.fetchCode) { handlers, request, _, exchange in handlers.fetchCode(request, &exchange) }),
    ServedEndpoint(
      "/attestation/challenge", for: .apps,
      .clients(.challenge) { handlers, request, _, exchange in handlers.giveChallenge(request, &exchange) }),
    ServedEndpoint(
      "/installations/self", for: .apps, auditing: .known(.revoke),
      .clients(.revokeSelf) { handlers, request, _, exchange in handlers.revokeSelf(request, &exchange) }),
    ServedEndpoint(
      "/installations/self/push", for: .apps,
      .clients(.registerDevice) { handlers, request, _, exchange in
        handlers.registerDevice(request, &exchange)
      },
      .clients(.removeDevice) { handlers, request, _, exchange in handlers.removeDevice(request, &exchange) }),
    // An id that does not decode is none.
    ServedEndpoint(
      "/notices/{id}", for: .apps,
      .clients(.notice) { handlers, request, parameters, exchange in
        handlers.showNotice(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      }),
    // Before the dialogs, whose paths have the same form. A name or an id that does not decode is none.
    ServedEndpoint(
      "/genesys/1/service/callback", for: .apps,
      .clients(.gmsFindAll) { handlers, request, _, exchange in
        handlers.findGMS(in: nil, request, &exchange)
      }),
    ServedEndpoint(
      "/genesys/1/service/callback/{name}", for: .apps, auditing: .some([.post: .callback]),
      .clients(.gmsFind) { handlers, request, parameters, exchange in
        handlers.findGMS(in: .some(request.percentDecoded(parameters[0])), request, &exchange)
      },
      .clients(.gmsCreate) { handlers, request, parameters, exchange in
        handlers.createGMS(request.percentDecoded(parameters[0]), request, &exchange)
      }),
    ServedEndpoint(
      "/genesys/1/service/callback/{name}/availability", for: .apps,
      .clients(.gmsAvailability) { handlers, request, parameters, exchange in
        handlers.showGMSAvailability(
          request.percentDecoded(parameters[0]), isSecond: false, request, &exchange)
      }),
    ServedEndpoint(
      "/genesys/2/service/callback/{name}/availability", for: .apps,
      .clients(.gmsAvailability2) { handlers, request, parameters, exchange in
        handlers.showGMSAvailability(
          request.percentDecoded(parameters[0]), isSecond: true, request, &exchange)
      }),
    ServedEndpoint(
      "/genesys/1/service/callback/{name}/{id}", for: .apps,
      auditing: .some([.put: .change, .delete: .cancel]),
      .clients(.gmsChange) { handlers, request, parameters, exchange in
        handlers.changeGMS(
          request.percentDecoded(parameters[0]), request.percentDecoded(parameters[1]), request, &exchange)
      },
      .clients(.gmsCancel) { handlers, request, parameters, exchange in
        handlers.cancelGMS(
          request.percentDecoded(parameters[0]), request.percentDecoded(parameters[1]), request, &exchange)
      }),
    // An id or an action that does not decode is none.
    ServedEndpoint(
      "/genesys/1/service/{id}/{action}", for: .apps, auditing: .handled([.connect, .snooze, .cancel]),
      takesHead: false,
      .clients(.dialog) { handlers, request, parameters, exchange in
        handlers.answerDialog(
          request.percentDecoded(parameters[0]) ?? "", request.percentDecoded(parameters[1]) ?? "", request,
          &exchange)
      },
      .clients(.dialogByGet) { handlers, request, parameters, exchange in
        handlers.answerDialog(
          request.percentDecoded(parameters[0]) ?? "", request.percentDecoded(parameters[1]) ?? "", request,
          &exchange)
      }),
    ServedEndpoint(
      "/codes/verify", for: .apps, auditing: .known(.verify),
      .clients(.verifyCode) { handlers, request, _, exchange in handlers.verifyCode(request, &exchange) }),
    ServedEndpoint(
      "/hooks/talkdesk/{secret}", for: .everybody,
      .clients(.hook) { handlers, request, parameters, exchange in
        handlers.takeEvent(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
      }),
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
      .operators(.adminRevokeInstallation) { (administration, request, operators, exchange) throws(Problem) in
        try administration.revokeInstallation(request, operators, &exchange)
      }),
    ServedEndpoint(
      "/", for: .everybody,
      .clients(.landing) { _, request, _, exchange in
        exchange.respond(LandingPage.document.answer(to: request))
      }),
    ServedEndpoint(
      "/openapi.json", for: .everybody,
      .clients(.openAPI) { handlers, request, _, exchange in
        exchange.respond(handlers.description.openAPI.answer(to: request))
      }),
    ServedEndpoint(
      "/docs", for: .everybody,
      .clients(.docs) { handlers, request, _, exchange in
        exchange.respond(handlers.description.page.answer(to: request))
      }),
    // A name that does not decode is none.
    ServedEndpoint(
      "/docs/{tag}", for: .everybody,
      .clients(.docsPage) { handlers, request, parameters, exchange in
        let name = request.percentDecoded(parameters[0]) ?? ""
        guard let page = handlers.description.pages[name] else {
          return exchange.respond(Problem.noEndpoint.response(requestID: exchange.requestID))
        }
        exchange.respond(page.answer(to: request))
      }),
  ]
}
