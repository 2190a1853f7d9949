// The parts of an API description: operations, parameters, responses and refusals, as in OpenAPI 3.1.

package import Gate
import HTTP
import JSON

/// One method of an endpoint. `/openapi.json` and `/docs` are made only from this description.
package struct APIOperation: Sendable {
  /// The sections of the document.
  enum Tag: String, CaseIterable, Sendable {
    case tokens = "Tokens"
    case callbacks = "Callbacks"
    case tickets = "Tickets"
    case gms = "GMS"
    case installations = "Installations"
    case health = "Health"
    case operators = "Operators"
    case about = "About"
  }

  /// The clients that may use the operation.
  enum Access: Hashable, Sendable {
    case everybody
    case callers
    /// Operators with this role or a higher one.
    case operators(Operator.Role)
  }

  let method: Method
  /// The name of the operation for generated clients.
  let id: String
  let tag: Tag
  let access: Access
  /// A summary in a few words.
  let summary: String
  /// The explanation for clients: paragraphs, with `code` between backticks.
  let description: String
  var parameters: [APIParameter] = []
  /// The required content of a request; nil if a request needs none.
  var content: APIContent?
  /// The responses to a successful request.
  let answers: [APIAnswer]
  /// The refusals of the operation, besides those that every operation of its kind has.
  var refusals: [Problem.Code] = []
  /// Whether the operation requires App Check if its app does.
  var isAttested = true
  /// The usual path, if this is the operation at another path; nil at the usual path.
  var original: String?

  /// The same operation for another name of the usual path `path`.
  package func alias(of path: String) -> APIOperation {
    var alias = self
    alias.original = path
    return alias
  }

  /// The parameters, and the headers that each request with a credential may have.
  var allParameters: [APIParameter] {
    guard access == .callers else { return parameters }
    return parameters + [.proof] + (isAttested ? [.appCheck] : [])
  }

  /// The lowest role of operators that may use the operation; nil if it is not only for operators.
  package var role: Operator.Role? {
    if case .operators(let role) = access { role } else { nil }
  }

  /// Every refusal: the operation's own, those of its credentials, and those of every request.
  var allRefusals: [Problem.Code] {
    let credentials: [Problem.Code] =
      switch access {
      case .everybody: []
      case .callers:
        [.unauthenticated, .invalidToken, .invalidProof, .rateLimited] + (isAttested ? .ofAttestations : [])
      case .operators: [.unauthenticated, .invalidToken, .notFound, .denied, .rateLimited]
      }
    let named = Set(refusals + credentials + Self.always)
    return Problem.Code.allCases.filter(named.contains)
  }

  /// The refusals of any request, before an endpoint sees it or instead of its response.
  private static let always: [Problem.Code] = [
    .malformedRequest, .methodNotAllowed, .requestTimeout, .contentTooLarge, .targetTooLong, .fieldsTooLarge,
    .internal, .overloaded,
  ]
}

extension [Problem.Code] {
  /// The refusals if an app must prove that it is genuine.
  static let ofAttestations: [Problem.Code] = [
    .attestationRequired, .attestationFailed, .attestationUnavailable,
  ]
}

/// A parameter of an operation, in its path, query or header.
struct APIParameter: Sendable {
  enum Place: String, Sendable {
    case path
    case query
    case header
  }

  let name: String
  let place: Place
  let description: String
  var schema: JSONValue = ["type": "string"]
  var example: JSONValue?
  /// Whether the parameter has a meaning without a value.
  var isFlag = false
  /// Whether a request must have the parameter. Parameters of a path are always required.
  var isRequired = false

  var json: JSONValue {
    var object: JSONObject = [
      "name": .string(name), "in": .string(place.rawValue), "required": .bool(place == .path || isRequired),
      "description": .string(description), "schema": schema,
    ]
    if isFlag {
      object["allowEmptyValue"] = true
      object["schema"] = ["type": "string"]
    }
    if let example { object["example"] = example }
    return .object(object)
  }
}

extension APIParameter {
  /// The proof by the key of an installation, in the header `DPoP`.
  static let proof = APIParameter(
    name: "DPoP", place: .header,
    description:
      "A proof by the installation's key (RFC 9449). An installation whose app has `key: required` sends nothing else."
  )
  /// A token of App Check, for apps with `app_check`.
  static let appCheck = APIParameter(
    name: "X-Firebase-AppCheck", place: .header,
    description: "A token of Firebase App Check, for apps that need one.")
}

/// One form of content.
struct APIContent: Sendable {
  let type: String
  /// Another media type with the same members; nil if there is none.
  var otherType: String?
  let schema: JSONValue
  var examples: [(name: String, value: JSONValue)] = []

  /// JSON content with a named schema.
  static func json(_ name: String, _ examples: (name: String, value: JSONValue)...) -> APIContent {
    APIContent(
      type: "application/json", schema: ["$ref": .string("#/components/schemas/\(name)")], examples: examples)
  }

  var json: JSONValue {
    var object: JSONObject = ["schema": schema]
    if !examples.isEmpty {
      var named = JSONObject()
      for (name, value) in examples { named[name] = ["value": value] }
      object["examples"] = .object(named)
    }
    return .object(object)
  }
}

/// One status of a successful response, with its contents and headers.
struct APIAnswer: Sendable {
  let status: Status
  let description: String
  var contents: [APIContent] = []
  var fields: [APIField] = []
  var links: [APILink] = []
}

/// A link from a response to another operation, with a parameter from the response.
struct APILink: Sendable {
  let operation: String
  let parameter: String
  /// The place of the parameter in the response, as a runtime expression of OpenAPI.
  let expression: String
}

/// A header of a response.
struct APIField: Sendable {
  let name: String
  let description: String
  var schema: JSONValue = ["type": "string"]
  /// Whether every such response has the header.
  var isRequired = true

  /// The same header, but optional.
  var atTimes: APIField {
    var field = self
    field.isRequired = false
    return field
  }

  var json: JSONValue {
    ["description": .string(description), "required": .bool(isRequired), "schema": schema]
  }

  static let requestID = APIField(
    name: "X-Request-Id",
    description:
      "The request's own `X-Request-Id` if that is 1 to 128 letters, digits, dots, underscores and hyphens, else 32 random hexadecimal digits. The log has the same id.",
    schema: ["$ref": "#/components/schemas/RequestID"])
  static let noStore = APIField(
    name: "Cache-Control", description: "The response must not be cached.",
    schema: ["type": "string", "const": "no-store"])
  static let cacheControl = APIField(
    name: "Cache-Control", description: "Which caches may store this response, and how long.")
  static let entityTag = APIField(name: "ETag", description: "Names this version, for `If-None-Match`.")
  static let challenge = APIField(
    name: "WWW-Authenticate", description: "The schemes that could succeed (RFC 9110 §11.6.1).")
  static let proofNonce = APIField(
    name: "DPoP-Nonce",
    description: "With `invalid_proof`: the nonce that the next proof in `DPoP` must have (RFC 9449 §8).",
    isRequired: false)
  static let allow = APIField(name: "Allow", description: "The methods of this path.")
  static let retryAfter = APIField(
    name: "Retry-After",
    description: "The seconds to wait before a retry. A retry after this time can succeed.",
    schema: ["type": "integer", "minimum": 0])
  static let rateLimitPolicy = APIField(
    name: "RateLimit-Policy",
    description:
      "The limits of this request, as `\"NAME\";q=30;w=60` (draft-ietf-httpapi-ratelimit-headers-10).",
    isRequired: false)
  static let rateLimit = APIField(
    name: "RateLimit", description: "The rest of these limits, as `\"NAME\";r=0;t=12`.", isRequired: false)
  static let location = location(below: "/callbacks/")
  static func location(below path: String) -> APIField {
    APIField(
      name: "Location", description: "The path of the new record.",
      schema: ["type": "string", "pattern": .string("^" + path)])
  }
  /// The headers about limits, which belong together.
  static let allowances = [rateLimitPolicy, rateLimit]
}

extension JSONValue {
  /// Parses JSON text that is written in this source. A mistake in it is a bug, which every test of the
  /// document finds.
  init(literally text: StaticString) {
    do throws(JSONError) {
      self = try JSONValue(parsing: Array("\(text)".utf8))
    } catch {
      preconditionFailure("not JSON: \(error) in \(text)")
    }
  }
}
