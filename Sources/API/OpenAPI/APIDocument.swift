// Generates the OpenAPI 3.1 document from the endpoints, problem codes and schemas.

import Gate
import HTTP
package import JSON

/// The OpenAPI description of this server's interface.
package struct APIDocument: Sendable {
  /// All endpoints, in the order in which they are shown.
  let endpoints: [Endpoint]
  /// Whether the server accepts requests without credentials.
  let allowsAnonymous: Bool

  package init(endpoints: [Endpoint], allowsAnonymous: Bool) {
    self.endpoints = endpoints
    self.allowsAnonymous = allowsAnonymous
  }

  /// The whole document.
  package var json: JSONObject {
    [
      "openapi": "3.1.0",
      "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
      "info": [
        "title": "Callgate", "version": .string(Version.current), "summary": .string(Self.summary),
        "description": .string(Self.introduction),
        "license": ["name": "MIT", "identifier": "MIT"],
      ],
      "servers": [["url": "/", "description": "This server."]],
      "tags": .array(
        APIOperation.Tag.allCases.map {
          ["name": .string($0.rawValue), "description": .string($0.description)]
        }),
      "paths": .object(paths),
      "components": [
        "securitySchemes": Self.securitySchemes, "responses": .object(refusals),
        "examples": .object(Self.examples),
        "schemas": .object(Self.schemas),
      ],
    ]
  }

  static let summary = "Talkdesk access tokens and callbacks, according to your own rules."
  static let introduction = """
    Callgate runs between your mobile apps and Talkdesk. It holds the Talkdesk credential and applies your rules. \
    It issues short-lived Talkdesk ID access tokens, and requests callbacks for clients that have no token.

    Credentials: HTTP Basic, an API key (`Authorization: Bearer KEY` or `X-API-Key: KEY`), or a JWT of a configured issuer \
    (`Authorization: Bearer JWT`). A caller with a key signs a proof for each request and sends it in the header `DPoP` (RFC 9449). The \
    server authenticates each request first. Then the kill switch, the app and the rules decide, \
    before the server reads any stored record.

    Later versions may add members to responses, problem codes and other values. Ignore unknown members. Treat an unknown code by \
    its status. Later versions do not remove or redefine any part of this description.

    The body of every error is a problem document (RFC 9457) with a `code` that programs can decide on. It never holds a token, a \
    credential, a full phone number or Talkdesk's own words. Every response has `X-Request-Id`. A request may bring its own \
    `X-Request-Id`, and a W3C `traceparent`.

    Every path with GET also has HEAD, which returns the same response without a body; the dialogs have none. Every path but `/mcp` has OPTIONS. Web pages of the \
    origins in `cors.origins` may use the endpoints below Tokens, Callbacks, Tickets, GMS and Installations.
    """

  // MARK: Paths

  private var paths: JSONObject {
    var paths = JSONObject()
    for endpoint in endpoints {
      for (index, path) in endpoint.paths.enumerated() {
        paths[path] = item(endpoint, index == 0 ? nil : endpoint.paths[0])
      }
    }
    return paths
  }

  /// - Parameter original: The usual path, if this path is another name for it; nil if this is the usual
  ///   path.
  private func item(_ endpoint: Endpoint, _ original: String?) -> JSONValue {
    var item: JSONObject = ["description": .string("Allow: \(endpoint.allowed)")]
    for operation in endpoint.operations {
      item[operation.method.rawValue.lowercased()] = .object(description(of: operation, original))
    }
    return .object(item)
  }

  private func description(of operation: APIOperation, _ original: String?) -> JSONObject {
    let original = original ?? operation.original
    let alias = original.map { "Another name of `\($0)`." }
    var object: JSONObject = [
      "operationId": .string(original == nil ? operation.id : operation.id + "Alias"),
      "tags": [.string(operation.tag.rawValue)], "summary": .string(operation.summary),
      "description": .string([alias, operation.description].compactMap { $0 }.joined(separator: "\n\n")),
      "security": security(operation),
    ]
    let parameters = operation.allParameters
    if !parameters.isEmpty { object["parameters"] = .array(parameters.map(\.json)) }
    if let content = operation.content {
      object["requestBody"] = ["required": true, "content": Self.contents([content])]
    }
    object["responses"] = responses(operation)
    return object
  }

  private func security(_ operation: APIOperation) -> JSONValue {
    switch operation.access {
    case .everybody: return []
    // OpenAPI 3.1 §4.8.30: a scheme other than OAuth lists the names of roles.
    case .operators(let role): return [["operators": [.string(role.rawValue)]]]
    case .callers:
      var schemes: [JSONValue] = [["basic": []], ["bearer": []], ["apiKey": []]]
      if operation.tag == .gms { schemes.append(["gmsKey": []]) }
      if allowsAnonymous { schemes.append([:]) }
      return .array(schemes)
    }
  }

  // MARK: Responses

  private func responses(_ operation: APIOperation) -> JSONValue {
    var object = JSONObject()
    let refusals = APIRefusals.grouped(operation.allRefusals)
    let codes = Set(operation.answers.map(\.status.code) + refusals.map(\.status))
    for code in codes.sorted() {
      let answers = operation.answers.filter { $0.status.code == code }
      let refusal = refusals.first { $0.status == code }
      if answers.isEmpty, let refusal {
        object[String(code)] = ["$ref": .string("#/components/responses/\(refusal.name)")]
      } else {
        object[String(code)] = Self.response(answers, refusal)
      }
    }
    return .object(object)
  }

  /// The responses of one status: successes and problems.
  private static func response(_ answers: [APIAnswer], _ refusal: APIRefusals?) -> JSONValue {
    let descriptions = answers.map(\.description) + (refusal.map { [$0.description] } ?? [])
    var fields = [APIField.requestID] + answers.flatMap(\.fields)
    // The response has one of these forms, so a header that only some forms have is optional.
    for field in refusal?.fields ?? [] where !fields.contains(where: { $0.name == field.name }) {
      fields.append(answers.isEmpty ? field : field.atTimes)
    }
    var headers = JSONObject()
    for field in fields where headers[field.name] == nil { headers[field.name] = field.json }
    var object: JSONObject = [
      "description": .string(descriptions.joined(separator: "\n\n")), "headers": .object(headers),
    ]
    let forms = answers.flatMap(\.contents)
    if !forms.isEmpty || refusal != nil {
      var contents = JSONObject()
      for form in forms { contents[form.type] = form.json }
      if let refusal { contents["application/problem+json"] = refusal.content }
      object["content"] = .object(contents)
    }
    var links = JSONObject()
    for link in answers.flatMap(\.links) {
      links[link.operation] = [
        "operationId": .string(link.operation),
        "parameters": .object([link.parameter: .string(link.expression)]),
      ]
    }
    if !links.isEmpty { object["links"] = .object(links) }
    return .object(object)
  }

  private static func contents(_ forms: [APIContent]) -> JSONValue {
    var contents = JSONObject()
    for form in forms {
      contents[form.type] = form.json
      if let type = form.otherType { contents[type] = form.json }
    }
    return .object(contents)
  }

  // MARK: Components

  /// The groups of refusals, as components, except those whose status is also that of a successful response
  /// of the operation.
  private var refusals: JSONObject {
    var object = JSONObject()
    for operation in endpoints.flatMap(\.operations) {
      for refusal in APIRefusals.grouped(operation.allRefusals)
      where !operation.answers.contains(where: { $0.status.code == refusal.status }) {
        object[refusal.name] = Self.response([], refusal)
      }
    }
    return object
  }

  private static let examples: JSONObject = {
    var object = JSONObject()
    for code in Problem.Code.allCases {
      object[code.rawValue] = ["summary": .string(code.title), "value": code.example]
    }
    return object
  }()

  private static let schemas: JSONObject = {
    var object = JSONObject()
    for (name, schema) in APISchemas.all { object[name] = schema }
    return object
  }()

  private static let securitySchemes: JSONValue = [
    "basic": [
      "type": "http", "scheme": "basic",
      "description":
        "A configured caller's name and password, or an installation's values and secret. An installation whose app has `key: required` needs none: its proof in the header `DPoP` is enough.",
    ],
    "bearer": [
      "type": "http", "scheme": "bearer",
      "description": "A configured caller's API key, or a JWT of a configured issuer.",
    ],
    "apiKey": [
      "type": "apiKey", "in": "header", "name": "X-API-Key", "description": "A configured caller's API key.",
    ],
    "gmsKey": [
      "type": "apiKey", "in": "header", "name": "apikey",
      "description": "A configured caller's API key, as clients of GMS send it.",
    ],
    "operators": [
      "type": "http", "scheme": "bearer",
      "description":
        "The token of an operator whose role is at least the one that the operation names, a JWT of the operators' issuer, or the admin token, `CALLGATE_ADMIN_TOKEN`. If the server has none of them, these paths are 404 on the public listener.",
    ],
  ]
}

extension APIOperation.Tag {
  var description: String {
    switch self {
    case .tokens: "Talkdesk ID access tokens for apps."
    case .callbacks: "Calls from Talkdesk to customers, for apps without a token."
    case .tickets: "Tickets of a chat desk, for signed-in users."
    case .gms: "The callback services of Genesys Mobile Services, for apps that were built for them."
    case .installations: "A credential for each phone, instead of one password in every app."
    case .health: "Health checks for platforms and load balancers."
    case .operators: "Metrics, state, kill switch and explanations, for the operators of this server."
    case .about: "This API description."
    }
  }
}
