// The problems for malformed requests, unknown paths and wrong methods.

import HTTP
package import HTTPServer

extension Problem {
  /// The problem of bytes that never became a request, or of a request that was not answered.
  package init(_ failure: RequestFailure) {
    switch failure {
    case .malformed:
      self.init(.malformedRequest, "The bytes received are not a request as RFC 9112 writes it.")
    case .timedOut: self.init(.requestTimeout, "Send the whole request without long pauses.")
    case .contentTooLarge: self.init(.contentTooLarge, "Send less content.")
    case .targetTooLong: self.init(.targetTooLong, "Send a shorter request target.")
    case .fieldsTooLarge: self.init(.fieldsTooLarge, "Send fewer and shorter header fields.")
    case .overloaded: self.init(.overloaded, "All connections are taken; try again shortly.", retryAfter: 1)
    case .unfiltered:
      self.init(
        .malformedRequest, "This port speaks HTTPS, and the request came in the clear: ask with https.")
    case .unanswered: self.init(.internal, "The request was dropped without an answer.")
    }
  }

  /// As many requests wait as connections may be open.
  package static var tooManyWaiting: Problem {
    Problem(.overloaded, "Too many requests wait at this server. Try again shortly.", retryAfter: 1)
  }

  /// The client did not wait for what its request waited for. It sees nothing of this; logs and metrics do.
  package static var clientLeft: Problem {
    var problem = Problem(.upstreamTimeout, "The client closed the connection before the answer.")
    problem.isUnread = true
    return problem
  }

  /// A path that leads nowhere.
  package static var noEndpoint: Problem { Problem(.notFound, "No endpoint has this path.") }

  /// A method the endpoint does not know.
  /// - Parameter allowed: Those it knows, for `Allow`.
  package static func methodNotAllowed(_ allowed: String) -> Problem {
    var problem = Problem(.methodNotAllowed, "Use one of: \(allowed).")
    problem.responseFields.append("Allow", allowed)
    return problem
  }
}

extension Problem {
  /// A request with mistakes.
  package static func invalid(_ mistakes: [FieldProblem]) -> Problem {
    var problem = Problem(.invalidRequest, "Some members of the request cannot be taken; fields names each.")
    problem.fields = mistakes
    return problem
  }
}
