// The responses of the endpoints for installations, and the problems of their refusals.

package import API
package import Callers
import Deciding
package import Gate
package import HTTP
package import Installations
package import JSON
package import Platform
import Records
package import Store
import Texts

/// Documents about installations for apps and operators.
package enum InstallationDocument {
  private static let fields: Fields = ["Content-Type": "application/json", "Cache-Control": "no-store"]

  /// The response with an installation's code, and with its secret if that is new.
  package static func code(_ code: (code: String, expiresIn: Int64), secret: String?) -> Response {
    var document: JSONObject = [
      "code": .string(code.code), "expires_in": .number(JSONNumber(code.expiresIn)),
    ]
    if let secret { document["client_secret"] = .string(secret) }
    return Response(status: .ok, fields: fields, content: document.serialized())
  }

  /// The response with a challenge and its lifetime in seconds.
  package static func challenge(_ challenge: String, expiresIn seconds: Int64) -> Response {
    let document: JSONObject = [
      "challenge": .string(challenge), "expires_in": .number(JSONNumber(seconds)),
    ]
    return Response(status: .created, fields: fields, content: document.serialized())
  }

  /// The response to a request that waits for an operator.
  package static func pending(requestID: String, userCode: String, until end: Instant, at now: Instant)
    -> Response
  {
    let document: JSONObject = [
      "status": "pending", "request_id": .string(requestID), "user_code": .string(userCode),
      "interval": .number(JSONNumber(Enrolling.interval)),
      "expires_in": .number(JSONNumber(Int64(max(.zero, end - now).wholeSecondsRoundedUp))),
    ]
    var fields = fields
    fields.append("Retry-After", String(Enrolling.interval))
    return Response(status: .accepted, fields: fields, content: document.serialized())
  }

  /// The response that says whether a code is right.
  package static func verified(_ isValid: Bool) -> Response {
    let document: JSONObject = ["valid": .bool(isValid)]
    return Response(status: .ok, fields: fields, content: document.serialized())
  }

  /// The response with a page of the operators' list.
  package static func list(_ entries: [JSONValue], next: String?) -> Response {
    var document: JSONObject = ["installations": .array(entries)]
    if let next { document["next"] = .string(next) }
    return Response(status: .ok, fields: fields, content: document.serialized())
  }

  /// The response with a request for an operator to review, and with the installation that its approval would
  /// replace.
  ///
  /// - Parameter scheduled: The number of appointments of that installation that would end.
  package static func found(
    _ enrolment: Enrolment, replacing replaced: Installation?, scheduled: Int
  ) -> Response {
    var document = members(of: .enrolment(enrolment)) { _ in nil }
    if let replaced {
      var members: JSONObject = ["client_app": .string(replaced.client.app.hidingPhoneNumbers)]
      if let detail = replaced.client.detail {
        members["client_detail"] = .string(detail.hidingPhoneNumbers)
      }
      members["created_at"] = .string(replaced.createdAt.rfc3339)
      members["used_at"] = .string(replaced.usedAt.rfc3339)
      members["scheduled"] = .number(JSONNumber(Int64(scheduled)))
      document["replaces"] = .object(members)
    }
    return Response(status: .ok, fields: fields, content: document.serialized())
  }

  /// One entry of the operators' list. It contains no user code: the operator types the code that the
  /// customer reads out.
  ///
  /// - Parameter terms: The terms of an app, if it still has installations.
  package static func entry(_ entry: InstallationEntry, _ terms: (String) -> InstallationTerms?) -> JSONValue
  {
    .object(members(of: entry, terms))
  }

  private static func members(
    of entry: InstallationEntry, _ terms: (String) -> InstallationTerms?
  ) -> JSONObject {
    var document = JSONObject()
    let client: InstallationClient
    switch entry {
    case .installation(let installation): client = installation.client
    case .enrolment(let enrolment): client = enrolment.client
    }
    document["client_id"] = .string(client.id.description)
    document["client_app"] = .string(client.app.hidingPhoneNumbers)
    if let detail = client.detail { document["client_detail"] = .string(detail.hidingPhoneNumbers) }
    switch entry {
    case .installation(let installation):
      document["app"] = .string(installation.appID)
      document["state"] = installation.revokedAt == nil ? "active" : "revoked"
      document["subject"] = .string((installation.user?.subject ?? client.id.description).hidingPhoneNumbers)
      document["address"] = .string(installation.address)
      document["created_at"] = .string(installation.createdAt.rfc3339)
      document["used_at"] = .string(installation.usedAt.rfc3339)
      // No operator approved a user's installation.
      if installation.user == nil { document.put(installation.by) }
      if installation.revokedAt == nil, let terms = terms(installation.appID) {
        document["expires_at"] = .string(installation.usedAt.advanced(by: terms.idle).rfc3339)
      }
    case .enrolment(let enrolment):
      document["app"] = .string(enrolment.appID)
      document["state"] = .string(enrolment.listedState.rawValue)
      if enrolment.listedState != .pending { document.put(enrolment.by) }
      document["address"] = .string(enrolment.address)
      document["created_at"] = .string(enrolment.createdAt.rfc3339)
      document["expires_at"] = .string(enrolment.expiresAt.rfc3339)
    }
    return document
  }
}

extension Problem {
  /// The problem for a failed or refused request about an installation.
  package init(_ failure: InstallationService.Failure) {
    switch failure {
    case .store(let error): self.init(error)
    case .random: self.init(.internal, "The server could not generate a secret. Try again.")
    case .unrecorded: self = .noAudit
    case .refused(let refusal): self.init(refusal)
    }
  }

  /// The problem for the refusal of an enrollment, a poll, a code or an operator's request.
  package init(_ refusal: InstallationRefusal) {
    switch refusal {
    case .invalidClient:
      self.init(
        .invalidClient,
        "Unknown installation, or wrong secret or request_id. Enroll again.")
      responseFields.append("WWW-Authenticate", #"Basic realm="callgate", charset="UTF-8""#)
    case .slowDown(let seconds):
      self.init(.slowDown, "The app polled too soon.", tryAgainAfter: seconds)
    case .denied: self.init(.denied, "An operator denied this installation.")
    case .expired: self.init(.requestExpired, "This request has expired. Start again without request_id.")
    case .delivered:
      self.init(
        .alreadyDelivered,
        "The secret for this request has already been delivered. Start again without request_id."
      )
    case .tooMany:
      self.init(.tooMany, "This user has reached the installation limit of this app. Revoke one first.")
    case .taken: self.init(.taken, "Another installation already uses this client_id. Generate a new UUID.")
    case .keyInUse:
      self = .attestationFailed
    case .keyTaken: self.init(.taken, "Another installation already uses this key. Generate a new one.")
    case .noProof:
      self.init(.invalidProof, "Send a DPoP proof signed with the key of this request in each poll.")
    case .full:
      self.init(.overloaded, "Too many requests are waiting for an operator.", tryAgainAfter: 60)
    case .unknown: self.init(.notFound, "Installation or request not found.")
    case .locked(let seconds):
      self.init(.rateLimited, "Too many wrong codes.", tryAgainAfter: seconds)
    }
  }

  /// The problem if only the user may authorize, and no user is signed in.
  package static var signInFirst: Problem {
    var problem = Problem(
      .unauthenticated, "Sign the user in, and send the user's token as a Bearer credential.")
    problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate""#)
    return problem
  }

  /// The problem if the request names no app, and not exactly one app has installations.
  package static var appNeeded: Problem {
    var problem = Problem(.invalidRequest, "Name the app with the query parameter app.")
    problem.fields = [FieldProblem(name: "app", description: "Name one of the server's apps.")]
    return problem
  }
}

extension Caller {
  /// Refuses a user's token that has no `iat`, or is more than 5 minutes old. Otherwise an attacker could use
  /// a leaked token to enroll an installation and get a lasting credential.
  package func requireFreshToken(at now: UnixTime) throws(Problem) {
    guard let issued = claims.first(where: { $0.name.hasSameBytes(as: "iat") })?.value,
      case .number(let text) = issued,
      let seconds = Double(text)
    else { throw .staleToken("The token has no iat.") }
    guard Double(now.seconds) - seconds <= 300 else {
      throw .staleToken("The token was issued more than 5 minutes ago. Sign the user in again.")
    }
  }
}

extension Problem {
  fileprivate static func staleToken(_ detail: String) -> Problem {
    var problem = Problem(.invalidToken, detail)
    problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate", error="invalid_token""#)
    return problem
  }
}
