// Vending a token: authenticate, find the app, ask for a grant, take it from the cache or from Talkdesk ID, audit, answer.

internal import HTTP
internal import HTTPServer
internal import JOSE
internal import JSON
internal import Platform
internal import Talkdesk

/// How a vended token is answered.
enum AccessForm: Sendable {
  /// `GET /access`: the content is exactly the token.
  case text
  /// `GET /access` as RFC 6749 §5.1 writes it.
  case json
  /// `GET /access?probe`: nothing but the status.
  case probe
  /// `POST /token/{app}`: what Talkdesk's stock clients read.
  case stock

  /// The form a `GET /access` asks for.
  init(_ request: borrowing Request) {
    if request.query != nil, request.hasQueryItem("probe") {
      self = .probe
      return
    }
    guard request.value(of: .accept) != nil else {
      self = .text
      return
    }
    switch TokenForm(accept: request.values(of: .accept).map(request.string)) {
    case .text: self = .text
    case .json: self = .json
    }
  }

  /// The answer that carries a token.
  /// - Parameter expiresIn: The whole seconds left of the token's life; nil where they are not known.
  func response(_ token: AccessToken, expiresIn: Int64?) -> Response {
    switch self {
    case .text:
      return Response(
        status: .ok, fields: ["Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"],
        content: token.secret.exposedBytes())
    case .json:
      var document: JSONObject = [
        "access_token": .string(token.secret.exposedString()), "token_type": .string(token.tokenType),
      ]
      if let expiresIn { document["expires_in"] = .number(JSONNumber(expiresIn)) }
      document["scope"] = .string(token.scope)
      return Self.document(document, status: .ok)
    case .stock:
      var document: JSONObject = ["auth_token": .string(token.secret.exposedString())]
      if let expiresIn { document["expires_in"] = .number(JSONNumber(expiresIn)) }
      return Self.document(document, status: .created)
    case .probe:
      return Response(status: .noContent, fields: ["Cache-Control": "no-store"])
    }
  }

  private static func document(_ document: JSONObject, status: Status) -> Response {
    Response(
      status: status,
      // RFC 6749 §5.1 asks for both of the last two.
      fields: ["Content-Type": "application/json", "Cache-Control": "no-store", "Pragma": "no-cache"],
      content: document.serialized())
  }
}

extension Gateway {
  /// Answers a request for a token, now or later.
  /// - Parameter name: The app the request names, if any.
  func vend(
    as form: AccessForm, app name: Request.QueryItem, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    let start = exchange.now
    let lane = exchange.loopIndex
    var record = AuditRecord(action: .access, requestID: exchange.requestID, address: exchange.peer.address)
    let grant: Grant
    do throws(Problem) {
      let caller = try authenticator.authenticate(request)
      record.caller = caller.id
      record.subject = caller.subject
      let app = try apps.app(named: name, for: caller)
      record.app = app?.id
      grant = policy.permit(caller, for: app)
    } catch {
      return exchange.respond(conclude(&record, error, since: start, lane: lane))
    }

    if let token = tokens.cached(grant.scope, now: start) {
      record.cache = .hit
      conclude(&record, form, token, since: start, lane: lane)
      if form == .text { return exchange.respond(prepared.response(for: token, loop: lane)) }
      return exchange.respond(form.response(token, expiresIn: token.wholeSecondsLeft(at: start)))
    }

    record.cache = .miss
    let responder = exchange.deferred()
    Task { [record] in
      var record = record
      do throws(TokenError) {
        let token = try await tokens.token(grant.scope)
        record.upstreamStatus = 200
        conclude(&record, form, token, since: start, lane: lane)
        responder.respond(form.response(token, expiresIn: token.wholeSecondsLeft(at: clock.now)))
      } catch {
        record.upstreamStatus = error.cause?.status
        responder.respond(conclude(&record, Problem(error), since: start, lane: lane))
      }
    }
  }

  /// Writes the record of a vended token, before the token leaves.
  private func conclude(
    _ record: inout AuditRecord, _ form: AccessForm, _ token: AccessToken, since start: MonotonicTime,
    lane: Int
  ) {
    // A probe returns no token, so none is put down as vended.
    if form != .probe { record.tokenSHA256 = token.sha256 }
    audit.append(record, since: start, lane: lane)
  }

  /// Writes the record of a refusal and makes its answer.
  private func conclude(
    _ record: inout AuditRecord, _ problem: Problem, since start: MonotonicTime, lane: Int
  ) -> Response {
    record.outcome = problem.code.status.code >= 500 ? .error : .deny
    record.code = problem.code
    record.rule = problem.rule
    audit.append(record, since: start, lane: lane)
    return problem.response(requestID: record.requestID)
  }
}

extension AccessToken {
  /// The whole seconds left of its life, never rounded up; nil where they are not known.
  func wholeSecondsLeft(at now: MonotonicTime) -> Int64? {
    remaining(at: now).map { max(0, $0.components.seconds) }
  }
}
