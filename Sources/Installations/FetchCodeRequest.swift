// Parses a request to `POST /fetch-code` and collects every problem in it.

package import API
import HTTP
package import JOSE
import JSON
package import Store

/// A request to `POST /fetch-code`.
package struct FetchCodeRequest: Sendable, Equatable {
  /// The kind of request, with the value that the app proves.
  package enum Form: Sendable, Equatable {
    /// The first request. With an attestation, it may contain the secret of an installation to replace.
    case first
    /// A poll, with the ID from the first response.
    case poll(requestID: String)
    /// A request for a code, with the delivered secret.
    case code(secret: String)
  }

  /// The app's description of itself.
  package let client: InstallationClient
  package let form: Form
  /// The attestation of the app, which only a first request may have; nil without one.
  package let attestation: AttestationEvidence?
  /// The thumbprint of the phone's key (RFC 7638). Only the thumbprint in the first request counts. Other
  /// requests may repeat it.
  package let key: SHA256Digest?
  /// The secret of the installation that a first request with an attestation may replace; nil without one.
  package let replacing: String?

  /// The maximum size of a request's body, in bytes. An attestation may be large.
  package static let contentBytes = 32 * 1024

  /// Reads a request's body, JSON or a form, and checks all of it.
  ///
  /// - Parameters:
  ///   - isForm: Whether the body is `application/x-www-form-urlencoded`.
  ///   - demand: Whether phones of the app have keys; nil if the app is unknown.
  /// - Throws: `content_too_large`, `invalid_json`, or `invalid_request` with every problem.
  package init(
    parsing content: [UInt8], isForm: Bool, query: [String], _ demand: InstallationTerms.KeyDemand?
  ) throws(Problem) {
    try MemberReader.checkLength(content, atMost: Self.contentBytes)
    if isForm { try JSONContent.refuseJSON(inForm: content) }
    var problems = FieldProblems()
    for name in query where name != "app" {
      problems.add(FieldProblems.shown(name), "The query has only app. Send this in the body.")
    }
    var reader =
      try isForm
      ? MemberReader(Self.form(content), problems)
      : MemberReader(parsing: content, of: "client_id and client_app", problems, atMost: Self.contentBytes)
    let id = reader.value("client_id", required: "Give the UUID that the app made for this installation.")
    let app = reader.value("client_app", required: "Give the app's name.")
    let detail = reader.value("client_detail")
    let secret = reader.value("client_secret")
    let requestID = reader.value("request_id")
    let clientID = id.flatMap { InstallationID($0) }
    if id != nil, clientID == nil {
      reader.problems.add(
        "client_id", "This is not a UUID. Give 36 characters such as 6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44.")
    }
    reader.check(app, "client_app", atMost: 64)
    reader.check(detail, "client_detail", atMost: 255)
    reader.check(secret, "client_secret", atMost: 255)
    reader.check(requestID, "request_id", atMost: 255)
    let attestation = isForm ? nil : AttestationEvidence(&reader)
    if attestation != nil, requestID != nil {
      reader.problems.add("request_id", "Send either attestation or request_id.")
    }
    if secret != nil, requestID != nil {
      reader.problems.add("request_id", "Send either client_secret or request_id.")
    }
    let isFirst = requestID == nil && (secret == nil || attestation != nil)
    key = Self.key(&reader, demand, isFirst: isFirst)
    reader.refuseOthers()
    try reader.problems.throwIfAny()
    guard let clientID, let app else {
      throw Problem(.invalidRequest, "client_id or client_app is missing.")
    }
    client = InstallationClient(id: clientID, app: app, detail: detail)
    self.attestation = attestation
    replacing = attestation == nil ? nil : secret
    form =
      if attestation != nil { .first } else if let secret { .code(secret: secret) } else if let requestID {
        .poll(requestID: requestID)
      } else {
        .first
      }
  }

  /// Reads `jkt`; nil if it is absent or invalid. Problems are added to the reader.
  private static func key(
    _ reader: inout MemberReader, _ demand: InstallationTerms.KeyDemand?, isFirst: Bool
  ) -> SHA256Digest? {
    let name = "jkt"
    let remedy = "Give the thumbprint of the phone's key (RFC 7638)."
    guard let text = reader.value(name, required: demand == .required && isFirst ? remedy : nil) else {
      return nil
    }
    if demand == .off { reader.problems.add(name, "Leave this out: phones of this app have no keys.") }
    guard let key = Base64URL.decode(text).flatMap({ SHA256Digest($0) }) else {
      reader.problems.add(name, "This is not a thumbprint. Give 43 characters of base64url.")
      return nil
    }
    return key
  }

  private static func form(_ content: [UInt8]) throws(Problem) -> JSONObject {
    do throws(HTTP.Form.Problem) {
      var object = JSONObject()
      for parameter in try HTTP.Form(decoding: content).parameters {
        // A parameter without a value counts as left out (RFC 6749 §3.1).
        object.append(parameter.name, parameter.value.isEmpty ? .null : .string(parameter.value))
      }
      return object
    } catch {
      var problems = FieldProblems()
      if case .duplicate(let name) = error {
        problems.add(FieldProblems.shown(name), "This parameter is repeated. Send it once.")
      }
      // Decode each parameter separately, so that the response names all that fail.
      for pair in content.split(separator: UInt8(ascii: "&")) {
        do throws(HTTP.Form.Problem) { _ = try HTTP.Form(decoding: Array(pair)) } catch {
          let name = String(decoding: pair.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
          problems.add(FieldProblems.shown(name), "This parameter does not decode: \(error.description).")
        }
      }
      try problems.throwIfAny()
      throw API.Problem(.invalidRequest, "The body is not a valid form: \(error.description).")
    }
  }
}

/// A request to `POST /codes/verify`.
package struct VerifyCodeRequest: Sendable, Equatable {
  package let id: InstallationID
  /// Six digits.
  package let code: String

  /// Reads a request's body and checks all of it.
  package init(parsing content: [UInt8]) throws(Problem) {
    var reader = try MemberReader(parsing: content, of: "client_id and code")
    let id = reader.value("client_id", required: "Give the installation's client_id.")
    let code = reader.value("code", required: "Give the code: six digits.")
    let clientID = id.flatMap { InstallationID($0) }
    if id != nil, clientID == nil { reader.problems.add("client_id", "This is not a UUID.") }
    if let code, code.utf8.count != 6 || !code.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      reader.problems.add("code", "Give six digits.")
    }
    reader.refuseOthers()
    try reader.problems.throwIfAny()
    guard let clientID, let code else { throw Problem(.invalidRequest, "client_id or code is missing.") }
    self.id = clientID
    self.code = code
  }
}
