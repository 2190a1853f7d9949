// Parses the JSON body that moves an appointment to another time.

package import API
package import Gate
import JSON

/// A change of an appointment by its client: the new time.
package struct CallbackChange: Sendable {
  /// The new time, to the second.
  package let at: Instant

  /// Reads a request's content, a merge patch (RFC 7396) of the record, and checks all of it.
  ///
  /// - Throws: `content_too_large`, `invalid_json`, or `invalid_request` with everything that is wrong.
  package init(parsing content: [UInt8]) throws(Problem) {
    let body = try CallbackRequest.object(parsing: content, holding: "at")
    var problems = FieldProblems()
    problems.refuseUnknown(in: body, known: ["at"], prefix: "")
    let time = problems.time("at", in: body)
    if body["at"] == nil || body["at"] == .null {
      problems.add("at", "Give the new time with an offset, such as 2026-11-23T10:00:00-05:00.")
    }
    try problems.throwIfAny()
    guard let time else {
      // Unreachable while a missing time is also a problem. If that ever changes, refusing is the safe
      // result.
      throw Problem(.invalidRequest, "The time is missing.")
    }
    at = time
  }
}
