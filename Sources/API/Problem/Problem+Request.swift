// The problems for malformed requests, unknown paths and wrong methods.

import HTTP
package import HTTPServer

extension Problem {
  /// The problem if a body has more bytes than an endpoint accepts.
  package static func contentTooLarge(_ limit: Int) -> Problem {
    Problem(.contentTooLarge, "Send a body of at most \(limit) bytes.")
  }

  /// The problem if a page of a site that `cors.origins` does not list sends a request.
  package static let foreignPage = Problem(
    .denied,
    "Web pages on other sites may not send this request. The operator of this server can add this site to cors.origins."
  )

  /// The problem of a failure to which the server itself responds: bytes that are not a request, a client
  /// that is too slow or exceeds a limit, or a request that the handler left unanswered.
  package init(_ failure: RequestFailure) {
    switch failure {
    case .malformed:
      self.init(
        .malformedRequest, "The server received bytes that are not an HTTP/1.1 request (RFC 9112).")
    case .timedOut: self.init(.requestTimeout, "Send the whole request without long pauses.")
    case .contentTooLarge: self.init(.contentTooLarge, "Send a smaller body.")
    case .targetTooLong: self.init(.targetTooLong, "Send a shorter URL.")
    case .fieldsTooLarge: self.init(.fieldsTooLarge, "Send fewer or shorter headers.")
    case .overloaded: self.init(.overloaded, "All connections are in use.", tryAgainAfter: 1)
    case .unfiltered:
      self.init(
        .malformedRequest, "This port serves HTTPS only. Send the request with https.")
    case .unanswered: self.init(.internal, "The server could not complete this request.")
    }
  }

  /// The problem if as many requests wait as connections may be open.
  package static var tooManyWaiting: Problem {
    Problem(.overloaded, "Too many requests are waiting.", tryAgainAfter: 1)
  }

  /// The problem if the client closed its connection while its request waited. Only logs and metrics show
  /// this problem.
  package static var clientLeft: Problem {
    var problem = Problem(.upstreamTimeout, "The client closed the connection before the response.")
    problem.isUnread = true
    return problem
  }

  /// The problem for a path that no endpoint has.
  package static var noEndpoint: Problem { noEndpoint(meaning: nil) }

  /// The problem for a path that no endpoint has.
  /// - Parameter path: A path that the client probably meant.
  package static func noEndpoint(meaning path: String?) -> Problem {
    let suggestion = path.map { "Did you mean \($0)? " } ?? ""
    return Problem(
      .notFound, "There is no endpoint at this path. \(suggestion)GET /docs lists all endpoints.")
  }

  /// The problem if the endpoint does not support the method.
  /// - Parameter allowed: The supported methods, for `Allow`.
  package static func methodNotAllowed(_ allowed: String) -> Problem {
    var problem = Problem(.methodNotAllowed, "Use one of: \(allowed).")
    problem.responseFields.append("Allow", allowed)
    return problem
  }
}

extension Problem {
  /// The problem of a request with mistakes. The detail names the first mistake.
  package static func invalid(_ mistakes: [FieldProblem]) -> Problem {
    let first = mistakes.first.map { "\($0.name): \($0.description)" } ?? "The request is not valid."
    let more = mistakes.count > 1 ? " The list fields has more mistakes." : ""
    var problem = Problem(.invalidRequest, first + more)
    problem.fields = mistakes
    return problem
  }

  /// Adds mistakes before or after the problem's own. A problem without mistakes keeps its detail.
  package mutating func add(_ mistakes: [FieldProblem], first: Bool = false) {
    if fields.isEmpty {
      fields = mistakes
    } else if !mistakes.isEmpty {
      let detailed = Problem.invalid(first ? mistakes + fields : fields + mistakes)
      (detail, fields) = (detailed.detail, detailed.fields)
    }
  }
}
