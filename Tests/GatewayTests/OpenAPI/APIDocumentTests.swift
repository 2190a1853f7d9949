// Tests that the OpenAPI document agrees with the endpoints, problem codes and limits of the server.

import HTTP
import JSON
import Notices
import Records
import Store
import Testing
import Tokens

@testable import API
@testable import Callbacks
@testable import Configuration
@testable import Gateway
@testable import RoomSupport

@Suite struct APIDocumentTests {
  private let document = APIDocument(endpoints: Endpoint.all, allowsAnonymous: false).json
  private let methods: [HTTP.Method] = [.get, .post, .put, .delete, .patch, .trace, .connect]

  /// A path of the document with its parameters filled in.
  private func concrete(_ path: String) -> String {
    path.replacing("{app}", with: "example-app-ios").replacing(
      "{id}", with: "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87"
    ).replacing("{action}", with: "connect").replacing("{name}", with: "support").replacing(
      "{tag}", with: "callbacks"
    ).replacing("{secret}", with: String(repeating: "s", count: 43))
  }

  private func request(_ path: String) throws -> Request {
    var parser = RequestParser()
    var request = Request()
    var offset = 0
    let octets = Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else { throw NoRequest() }
    return request
  }

  private struct NoRequest: Error {}

  @Test(arguments: Endpoint.all.flatMap(\.paths))
  func `each path leads to its endpoint, which knows the methods described and no other`(_ path: String)
    throws
  {
    let route = Route(try request(concrete(path)))
    let endpoint = try #require(route.endpoint)
    #expect(endpoint.paths.contains(path))
    #expect(Route.labels[Int(route.label)] == endpoint.paths[0])
    let item = try #require(document["paths"]?[path]?.object)
    #expect(item["description"] == .string("Allow: \(endpoint.allowed)"))
    let described = methods.filter { item[$0.rawValue.lowercased()] != nil }
    let known = methods.filter { method in
      endpoint.allowed.split(separator: ", ").contains { $0 == method.rawValue }
    }
    #expect(described == known)
    #expect(methods.filter { route.served?.handler(for: $0) != nil } == known)
  }

  @Test(arguments: [
    "/", "/token", "/token//", "/callbacks/a/b", "/token/a/b", "/Access", "/access/", "/%61ccess", "/admin",
    "/adminx",
  ])
  func `other paths lead nowhere, and slashes are tolerated around a parameter only`(_ path: String) throws {
    let route = Route(try request(path))
    #expect((route.endpoint == nil) == (path != "/"))
    #expect(!route.isUnknownToOperators)
  }

  @Test func `a parameter is the segment itself`() throws {
    for path in ["/token/a%20b", "//token/a%20b", "/token/a%20b/"] {
      let request = try request(path)
      let route = Route(request)
      #expect(route.endpoint?.paths == ["/token/{app}"])
      #expect(route.parameters.map { request.percentDecoded($0) } == ["a b"])
    }
    #expect(Route(try request("/admin/nothing")).isUnknownToOperators)
  }

  @Test func `operators' endpoints and no others are answered by the administration`() {
    for served in ServedEndpoint.table {
      let endpoint = served.endpoint
      for operation in endpoint.operations {
        let (isOperators, isPage) =
          switch served.handler(for: operation.method) {
          case .operators: (true, false)
          case .page: (false, true)
          default: (false, false)
          }
        #expect((isOperators || isPage) == (endpoint.audience == .operators), "\(endpoint.paths)")
        #expect((operation.role != nil) == isOperators, "\(endpoint.paths)")
        // A page needs no role because it contains no data, so no other path may count as one.
        #expect(isPage == (endpoint.paths == ["/admin/"]), "\(endpoint.paths)")
      }
    }
  }

  @Test func `no path is described twice, and none that is no endpoint's`() {
    let paths = Endpoint.all.flatMap(\.paths)
    #expect(Set(paths).count == paths.count)
    #expect(document["paths"]?.object?.members.map(\.name) == paths)
  }

  @Test func `operations have names of their own`() throws {
    let ids = try #require(document["paths"]?.object).members.flatMap { item in
      (item.value.object?.members ?? []).compactMap { $0.value["operationId"]?.string }
    }
    #expect(ids.count == Endpoint.all.reduce(0) { $0 + $1.paths.count * $1.operations.count })
    #expect(Set(ids).count == ids.count)
  }

  @Test(arguments: Problem.Code.allCases)
  func `each code has its example, and some endpoint that refuses with it`(_ code: Problem.Code) throws {
    let example = try #require(document["components"]?["examples"]?[code.rawValue]?["value"])
    #expect(example["code"]?.string == code.rawValue)
    #expect(example["status"]?.int == Int64(code.status.code))
    #expect((example["retry_after"] != nil) == (code.retries != .never))
    #expect(
      Endpoint.all.flatMap(\.operations).contains { $0.allRefusals.contains(code) })
  }

  @Test func `a request for a code is JSON or a form`() throws {
    let content = try #require(
      document["paths"]?["/fetch-code"]?["post"]?["requestBody"]?["content"]?.object)
    #expect(
      content.members.map(\.name).sorted() == ["application/json", "application/x-www-form-urlencoded"])
  }

  @Test func `the example of a request that waits is pending`() throws {
    let content = document["paths"]?["/admin/installations/find"]?["post"]?["responses"]?["200"]?["content"]
    let example = try #require(content?["application/json"]?["examples"]?["pending"]?["value"])
    #expect(example["state"] == "pending" && example["subject"] == nil && example["used_at"] == nil)
  }

  @Test func `each response holds exactly the codes of its status`() throws {
    for (endpoint, operation) in Endpoint.all.flatMap({ endpoint in
      endpoint.operations.map { (endpoint, $0) }
    }) {
      let responses = try #require(
        document["paths"]?[endpoint.paths[0]]?[operation.method.rawValue.lowercased()]?["responses"]?.object)
      for code in operation.allRefusals {
        let response = try #require(responses[String(code.status.code)], "\(endpoint.paths) \(code)")
        let content = try #require(resolved(response)["content"]?["application/problem+json"])
        #expect(content["schema"] == ["$ref": "#/components/schemas/Problem"])
        #expect(content["examples"]?[code.rawValue] != nil)
      }
      let statuses = Set(operation.allRefusals.map(\.status.code) + operation.answers.map(\.status.code))
      #expect(Set(responses.members.compactMap { Int($0.name) }) == statuses)
    }
  }

  @Test func `every reference leads somewhere, and every component is referred to`() throws {
    var references: Set<String> = []
    collect(.object(document), into: &references)
    for reference in references {
      #expect(reference.hasPrefix("#/"))
      #expect(target(of: reference) != nil, "\(reference)")
    }
    for group in ["responses", "examples", "schemas"] {
      for (name, _) in try #require(document["components"]?[group]?.object).members {
        #expect(references.contains("#/components/\(group)/\(name)"), "\(group) \(name)")
      }
    }
  }

  @Test func `limits are those that are enforced`() throws {
    let schemas = try #require(document["components"]?["schemas"])
    #expect(schemas["ContextText"]?["maxLength"]?.int == Int64(CallbackLimits.labelLength))
    #expect(CallbackLimits.labelLength == CallbackLimits.valueLength)
    // A `context_schema` may have longer names and values: the description must not refuse what the server accepts.
    let names = try Fixture.load(
      "apps: { shop: { context_schema: { fields: { \(String(repeating: "n", count: 255)): { max_length: 16384 } } } } }",
      for: .check)
    let field = try #require(names.configuration.apps.first?.contextSchema?.fields.first)
    #expect(schemas["ContextName"]?["maxLength"]?.int == Int64(field.name.utf8.count))
    #expect(schemas["ContextValue"]?["maxLength"]?.int == field.maximumLength.map(Int64.init))
    let form = schemas["ContextForm"]?["properties"]?["fields"]
    #expect(form?["maxItems"]?.int == Int64(CallbackLimits.fields))
    #expect(schemas["ContextShortForm"]?["maxProperties"]?.int == Int64(CallbackLimits.fields))
    let types = schemas["ContextField"]?["properties"]?["data_type"]?["enum"]?.array?.compactMap(\.string)
    #expect(Set(types ?? []) == Set(ContextField.DataType.allCases.map(\.rawValue)))
  }

  @Test func `the words of a key are those there are`() throws {
    let key = try #require(
      document["components"]?["schemas"]?["Keys"]?["properties"]?["keys"]?["items"]?["properties"])
    #expect(
      key["role"]?["x-extensible-enum"]?.array?.compactMap(\.string)
        == CredentialRole.allCases.map(\.rawValue))
    #expect(
      key["state"]?["x-extensible-enum"]?.array?.compactMap(\.string)
        == CredentialStatus.State.allCases.map(\.rawValue))
  }

  @Test func `the actions of notices, and the upstreams of the status, are those there are`() {
    let schemas = document["components"]?["schemas"]
    func names(_ member: JSONValue?) -> Set<String> {
      Set(member?["x-extensible-enum"]?.array?.compactMap(\.string) ?? [])
    }
    #expect(
      names(schemas?["Notice"]?["properties"]?["action"]) == Set(Notice.Action.allCases.map(\.rawValue)))
    #expect(
      names(schemas?["Status"]?["properties"]?["upstreams"]?["items"]?["properties"]?["upstream"])
        == Set(ServiceMetrics.Upstream.allCases.map(\.rawValue)))
  }

  /// Constructs that break generators: OpenAPIKit and openapi-python-client do not accept a boolean as a
  /// schema, and a constant without a type becomes untyped.
  @Test func `generators can read every schema`() {
    func look(_ value: JSONValue, at place: String) {
      for (index, element) in (value.array ?? []).enumerated() { look(element, at: "\(place)/\(index)") }
      guard let object = value.object else { return }
      for (name, value) in object.members {
        let place = "\(place)/\(name)"
        if name == "properties", let properties = value.object {
          for (member, schema) in properties.members {
            #expect(schema.object?.members.isEmpty == false, "\(place)/\(member)")
          }
        }
        if name == "const" || name == "enum" { #expect(object["type"] != nil, "\(place)") }
        if name == "schema" { #expect(value.object?.members.isEmpty == false, "\(place)") }
        look(value, at: place)
      }
    }
    look(.object(document), at: "#")
  }

  @Test func `the bodies of requests are closed, and those of responses are open`() throws {
    let schemas = try #require(document["components"]?["schemas"]?.object)
    for (name, schema) in schemas.members {
      let isRequest = APISchemas.ofRequests.contains(name)
      #expect(isRequest || Self.closings(schema) == 0, "\(name)")
    }
    for name in APISchemas.ofRequests { #expect(schemas[name] != nil, "\(name)") }
    #expect(Self.closings(schemas["CallbackRequest"] ?? .null) > 0)
    #expect(Self.closings(schemas["StopRequest"] ?? .null) > 0)
    // Lists that may grow: the statuses of callbacks and the codes of problems.
    #expect(
      schemas["Callback"]?["properties"]?["status"]?["x-extensible-enum"]?.array?.compactMap(\.string)
        == StoredCallback.Status.allCases.map(\.rawValue))
    let codes = schemas["Problem"]?["properties"]?["code"]?["x-extensible-enum"]?.array
    #expect(codes?.compactMap(\.string) == Problem.Code.allCases.map(\.rawValue))
  }

  /// How many times a schema, or a schema inside it, excludes other members or values.
  private static func closings(_ schema: JSONValue) -> Int {
    switch schema {
    case .array(let elements): return elements.reduce(0) { $0 + closings($1) }
    case .object(let object):
      return object.members.reduce(0) { count, member in
        let isClosing =
          member.name == "additionalProperties" && member.value == false
          || member.name == "enum" && object["type"] == "string"
        return count + (isClosing ? 1 : closings(member.value))
      }
    default: return 0
    }
  }

  @Test func `credentials are optional only where anonymous callers are allowed`() {
    let open = APIDocument(endpoints: Endpoint.all, allowsAnonymous: true).json
    func schemes(_ document: JSONObject, _ path: String) -> [JSONValue]? {
      document["paths"]?[path]?["get"]?["security"]?.array
    }
    #expect(schemes(document, "/access")?.contains([:]) == false)
    #expect(schemes(open, "/access")?.contains([:]) == true)
    #expect(schemes(open, "/admin/status") == [["operators": ["read"]]])
    #expect(schemes(open, "/livez") == [])
  }

  // MARK: References

  private func collect(_ value: JSONValue, into references: inout Set<String>) {
    switch value {
    case .object(let object):
      for (name, value) in object.members {
        if name == "$ref", let text = value.string { references.insert(text) }
        collect(value, into: &references)
      }
    case .array(let elements): for element in elements { collect(element, into: &references) }
    default: break
    }
  }

  private func target(of reference: String) -> JSONValue? {
    reference.dropFirst(2).split(separator: "/").reduce(JSONValue?.some(.object(document))) { value, name in
      value?[String(name)]
    }
  }

  private func resolved(_ value: JSONValue) -> JSONValue {
    value["$ref"]?.string.flatMap(target) ?? value
  }
}
