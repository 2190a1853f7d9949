// Sends callbacks to Talkdesk's Callback API, with a log line and a metric for each request.

import API
import Delivery
import Gate
import HTTP
import HTTPServer
import Platform
import Records
import Store
import Talkdesk
import Tokens

/// The courier for Talkdesk's Callback API.
struct TalkdeskCourier: Courier {
  let api: CallbackAPI
  let log: Log
  let metrics: ServiceMetrics
  let clock: any TimeSource

  func carry(
    _ order: CallbackOrder, with token: AccessToken, within timeout: Duration,
    startWithin: Duration?, then: @escaping @Sendable (CourierReport) -> Void
  ) {
    // Each request gets its own span in the client's trace.
    api.request(
      OutboundContent(order.content), token: token, traceparent: order.context.trace?.child().traceparent,
      timeout: timeout, startWithin: startWithin
    ) { report in
      metrics.asked(
        .callbackAPI, outcome: report.outcome.label, took: report.duration,
        success: report.outcome.certainty == .accepted ? clock.unixTime : nil)
      if let cause = report.outcome.trouble {
        metrics.troubles.began(.callbackAPI, cause: cause, at: clock.unixTime)
      } else {
        metrics.troubles.ended(.callbackAPI)
      }
      note(report, order)
      then(
        CourierReport(
          CourierReport.Outcome(report.outcome), status: report.status, traceID: report.platformTID))
    }
  }

  /// Logs the response to a request, with Talkdesk's trace id, which Talkdesk support needs. The log never
  /// contains a token, a value of the context, a full phone number or, above `debug`, Talkdesk's own words.
  private func note(_ report: CallbackReport, _ order: CallbackOrder) {
    let id = order.intent.id.description
    let level: LogSettings.Level
    let message: String
    switch report.outcome.certainty {
    case .accepted: (level, message) = (.info, "Talkdesk accepted a callback")
    case .notAccepted: (level, message) = (.warning, "Talkdesk did not accept a callback")
    case .unknown: (level, message) = (.warning, "the outcome of a callback is unknown: the phone may ring")
    }
    log.write(
      level, message,
      [
        "id": id, "request_id": order.context.requestID.description, "contact": order.intent.contact.masked,
        "outcome": report.outcome.label, "status": report.status,
        "code": report.code ?? "", "detail": report.outcome.failure ?? "",
        "platform_tid": report.platformTID ?? "",
        "duration_ms": report.duration.nanosecondsClamped / 1_000_000,
      ])
    if let message = report.message {
      log.write(.debug, "Talkdesk's own description", ["id": id, "description": message])
    }
    if case .rejected(_, let fields) = report.outcome {
      for field in fields {
        log.write(
          .debug, "Talkdesk's own description of a field",
          ["id": id, "field": field.name, "description": field.description ?? ""])
      }
    }
  }
}

extension CourierReport.Outcome {
  /// The outcome of the call, from Talkdesk's response or its absence.
  init(_ outcome: CallbackOutcome) {
    self =
      switch outcome {
      case .accepted: .accepted
      case .rejected(_, let fields): .notAccepted(.rejected(fields: fields.map(\.name)))
      case .unauthorized: .notAccepted(.tokenRefused)
      case .forbidden: .notAccepted(.forbidden)
      case .rateLimited(let wait): .notAccepted(.rateLimited(retryAfter: wait))
      case .unavailable(let wait): .notAccepted(.unavailable(retryAfter: wait))
      case .unreachable: .notAccepted(.unreachable)
      case .refused: .notAccepted(.refused)
      case .unclear: .unknown(isAnswered: true)
      case .unanswered: .unknown(isAnswered: false)
      }
  }
}

extension CallbackOutcome {
  /// The failure of the Callback API, in words for operators; nil if the API works. An API that rejects a
  /// callback's values works.
  fileprivate var trouble: String? {
    switch self {
    case .accepted, .rejected: nil
    case .unauthorized: "rejects this server's token (401)"
    case .forbidden: "does not allow this server to request callbacks (403)"
    case .rateLimited: "limits the rate (429)"
    case .unavailable: "is unavailable (503)"
    case .unreachable(let error): "cannot be reached: \(error.reason.words())"
    case .refused(let status): "refuses callbacks with status \(status)"
    case .unclear(let status): "responds with status \(status)"
    case .unanswered(let error): "does not respond: \(error.reason.words())"
    }
  }

  /// The transport's own words, if no response came.
  fileprivate var failure: String? {
    switch self {
    case .unreachable(let error), .unanswered(let error): "\(error)"
    case .accepted, .rejected, .unauthorized, .forbidden, .rateLimited, .unavailable, .refused, .unclear: nil
    }
  }
}
