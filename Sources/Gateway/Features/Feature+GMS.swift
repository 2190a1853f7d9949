// Endpoints for clients of Genesys Mobile Services (GMS).

import API
import HTTP
import HTTPServer
import Handling

extension Feature {
  /// The feature with the endpoints for clients that were written for Genesys Mobile Services.
  static let gms = Feature(
    endpoints: [
      // These endpoints come before the dialogs, whose paths have the same form. An undecodable name or ID is
      // treated as an unknown one.
      ServedEndpoint(
        "/genesys/1/service/callback", for: .apps,
        .clients(.gmsFindAll) { handlers, request, _, exchange in
          handlers.findGMS(in: nil, request, &exchange)
        }),
      ServedEndpoint(
        "/genesys/1/service/callback/{name}", for: .apps, auditing: .some([.post: .callback]),
        takesForms: true,
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
        auditing: .some([.put: .change, .delete: .cancel]), takesForms: true,
        .clients(.gmsChange) { handlers, request, parameters, exchange in
          handlers.changeGMS(
            request.percentDecoded(parameters[0]), request.percentDecoded(parameters[1]), request, &exchange)
        },
        .clients(.gmsCancel) { handlers, request, parameters, exchange in
          handlers.cancelGMS(
            request.percentDecoded(parameters[0]), request.percentDecoded(parameters[1]), request, &exchange)
        }),
    ])
}
