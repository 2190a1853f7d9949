// Endpoints for answers to the questions in notifications, and for verification codes.

import API
import HTTP
import HTTPServer
import Handling

extension Feature {
  /// The feature with the endpoints for dialogs about due callbacks, and for verification codes.
  static let dialogs = Feature(
    endpoints: [
      // An undecodable ID or action is treated as an unknown one.
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
    ])
}
