// Reads one message of the Model Context Protocol (MCP), of versions with or without sessions, and writes
// the answer. Without I/O.

import API
import Configuration
import HTTP
import JOSE
import JSON
import Texts

/// The protocol's versions, and the names of its headers and members.
enum AgentProtocol {
  /// The version without sessions, called modern here: each request contains everything that the server
  /// needs.
  static let modern = "2026-07-28"
  /// The versions with sessions, which begin with `initialize`; the newest first.
  static let legacy = ["2025-11-25", "2025-06-18", "2025-03-26"]
  /// A version that some clients still name. Its messages about tools are the same.
  static let oldest = "2024-11-05"
  static let versions = [modern] + legacy

  static let versionMember = "io.modelcontextprotocol/protocolVersion"
  static let capabilitiesMember = "io.modelcontextprotocol/clientCapabilities"

  static let versionField = FieldName("MCP-Protocol-Version")
  static let methodField = FieldName("Mcp-Method")
  static let nameField = FieldName("Mcp-Name")

  /// The maximum size of a message, in bytes.
  static let contentBytes = 65_536
  /// The maximum length of a message's ID, in characters.
  static let idLength = 255

  /// A client's version if it is safe to repeat in an answer, else `invalid`: a client must not put its own
  /// sentences there.
  static func shown(_ version: String) -> String {
    let isPlain = version.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        || "._-".utf8.contains($0)
    }
    return isPlain && (1...32).contains(version.utf8.count) ? version : "invalid"
  }
}

/// The headers of the protocol, in which a modern request repeats members of its body.
struct AgentHead {
  /// The value of a header.
  enum Value: Equatable {
    case absent
    case one(String)
    /// Sent twice, or not decodable.
    case unusable
  }

  var version = Value.absent
  var method = Value.absent
  var name = Value.absent

  init() {}

  init(_ request: borrowing Request) {
    version = Self.value(AgentProtocol.versionField, request)
    method = Self.value(AgentProtocol.methodField, request)
    name = Self.value(AgentProtocol.nameField, request)
  }

  private static func value(_ field: FieldName, _ request: borrowing Request) -> Value {
    let values = request.values(of: field)
    guard let value = values.first else { return .absent }
    return values.count == 1 ? Self.value(Array(request.head[value])) : .unusable
  }

  /// Reads a header: visible ASCII, or the form `=?base64?…?=` for all other texts.
  static func value(_ octets: [UInt8]) -> Value {
    guard octets.allSatisfy({ (0x20...0x7E).contains($0) }) else { return .unusable }
    let text = String(decoding: octets, as: UTF8.self)
    let (prefix, suffix) = ("=?base64?", "?=")
    guard text.utf8.starts(with: prefix.utf8), octets.suffix(suffix.utf8.count).elementsEqual(suffix.utf8),
      octets.count >= prefix.utf8.count + suffix.utf8.count
    else { return .one(text) }
    let encoded = octets[prefix.utf8.count..<(octets.count - suffix.utf8.count)]
    guard let decoded = Base64.decode(Array(encoded).span),
      let value = String(validating: decoded, as: UTF8.self)
    else { return .unusable }
    return .one(value)
  }
}

/// The JSON-RPC error for a refused message.
struct AgentFault: Error {
  var status: Status
  let code: Int64
  let message: String
  var data: JSONValue?

  /// The fault of a body that is not a valid message, or of headers that differ from it. All versions have
  /// the same status.
  static func message(_ code: Int64, _ message: String) -> AgentFault {
    AgentFault(status: .badRequest, code: code, message: message)
  }

  static let notJSON = message(-32700, "The body is not valid JSON.")
  static let notRequest = message(-32600, "The body is not one JSON-RPC 2.0 request.")
  static let headers = message(
    -32020, "A header is missing or differs from the body: MCP-Protocol-Version, Mcp-Method or Mcp-Name.")

  static func version(_ requested: String) -> AgentFault {
    AgentFault(
      status: .badRequest, code: -32022, message: "This server does not support this protocol version.",
      data: [
        "supported": .array(AgentProtocol.versions.map { .string($0) }),
        "requested": .string(AgentProtocol.shown(requested)),
      ])
  }

  /// The fault of an unknown method. Clients of older versions treat any status except 200 as the end of
  /// their session.
  static func method(isModern: Bool) -> AgentFault {
    AgentFault(
      status: isModern ? .notFound : .ok, code: -32601, message: "This server does not have this method.")
  }

  static func params(_ message: String, isModern: Bool) -> AgentFault {
    AgentFault(status: isModern ? .badRequest : .ok, code: -32602, message: message)
  }
}

/// One message of a client.
enum AgentMessage {
  /// The answer to a message that calls no tool.
  case answer(Response)
  case call(AgentReply, AgentTools.Tool, JSONObject)

  /// Reads a message.
  ///
  /// - Parameter tools: The tools that may be called.
  init(_ content: [UInt8], _ head: AgentHead, _ tools: AgentTools) {
    var reply = AgentReply(id: .null, isModern: false)
    do throws(AgentFault) {
      let body = try Self.object(content)
      guard body["jsonrpc"] == .string("2.0"), let method = body["method"]?.string else {
        throw .notRequest
      }
      guard let id = body["id"] else {
        // A notification. The server ignores it, even if it calls a tool.
        self = .answer(Response(status: .accepted, fields: ["Cache-Control": "no-store"]))
        return
      }
      guard Self.isID(id) else { throw .notRequest }
      let opens = method.hasSameBytes(as: "initialize")
      let params = body["params"]
      reply = AgentReply(
        id: id,
        isModern: params?["_meta"]?[AgentProtocol.versionMember] != nil
          || head.version == .one(AgentProtocol.modern) && !opens)
      if reply.isModern {
        try Self.checkModern(method, params, head)
      } else if !opens {
        try Self.checkLegacy(head)
      }
      self = try Self.message(method, params, reply, tools)
    } catch {
      self = .answer(reply.fault(error))
    }
  }

  private static func object(_ content: [UInt8]) throws(AgentFault) -> JSONObject {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue(
        parsing: content, limits: JSONLimits(bytes: AgentProtocol.contentBytes, members: 1024))
    } catch {
      throw .notJSON
    }
    guard let object = value.object else { throw .notRequest }
    return object
  }

  /// Whether an ID is a string or an integer. The answer repeats the ID, so its length is limited.
  private static func isID(_ id: JSONValue) -> Bool {
    switch id {
    case .string(let text): text.unicodeScalars.count <= AgentProtocol.idLength
    case .number(let number):
      number.text.utf8.count <= AgentProtocol.idLength
        && number.text.utf8.allSatisfy { !".eE".utf8.contains($0) }
    default: false
    }
  }

  /// Checks the members and headers of a modern request, in the order in which the specification's tests
  /// expect the errors.
  private static func checkModern(
    _ method: String, _ params: JSONValue?, _ head: AgentHead
  ) throws(AgentFault) {
    guard let meta = params?["_meta"]?.object, let version = meta[AgentProtocol.versionMember]?.string,
      meta[AgentProtocol.capabilitiesMember]?.object != nil
    else {
      throw .params("_meta needs a protocolVersion, and clientCapabilities as an object.", isModern: true)
    }
    guard head.version == .one(version), head.method == .one(method) else { throw .headers }
    if method.hasSameBytes(as: "tools/call") {
      let name = params?["name"]?.string
      guard head.name == name.map({ .one($0) }) ?? .absent else { throw .headers }
    }
    guard version.hasSameBytes(as: AgentProtocol.modern) else { throw .version(version) }
  }

  private static func checkLegacy(_ head: AgentHead) throws(AgentFault) {
    switch head.version {
    case .absent: return
    case .one(let version):
      guard (AgentProtocol.legacy + [AgentProtocol.oldest]).contains(exactly: version) else {
        throw .version(version)
      }
    case .unusable: throw .version("")
    }
  }

  private static func message(
    _ method: String, _ params: JSONValue?, _ reply: AgentReply, _ tools: AgentTools
  ) throws(AgentFault) -> AgentMessage {
    func fault(_ message: String) -> AgentFault { .params(message, isModern: reply.isModern) }
    let names = reply.isModern ? ["server/discover"] : ["initialize", "ping"]
    guard (names + ["tools/list", "tools/call"]).contains(exactly: method) else {
      throw .method(isModern: reply.isModern)
    }
    let members: JSONObject
    switch params {
    case nil, .null: members = [:]
    case .object(let object): members = object
    default: throw fault("params is not an object.")
    }
    switch method {
    case "server/discover": return .answer(reply.discovery)
    case "initialize": return .answer(reply.initialization(members["protocolVersion"]?.string ?? ""))
    case "ping": return .answer(reply.result([:]))
    case "tools/list":
      guard members["cursor"] ?? .null == .null else { throw fault("The list has one page and no cursor.") }
      return .answer(reply.result(["tools": tools.list], isLasting: true))
    default:
      let name = members["name"]?.string ?? ""
      guard let tool = tools.tools.first(where: { $0.rawValue.hasSameBytes(as: name) }) else {
        throw fault("This server does not have this tool.")
      }
      switch members["arguments"] {
      case nil, .null: return .call(reply, tool, [:])
      case .object(let arguments): return .call(reply, tool, arguments)
      default: throw fault("arguments is not an object.")
      }
    }
  }
}

/// Writes the answer to one request.
struct AgentReply: Sendable {
  let id: JSONValue
  let isModern: Bool

  private static let server: JSONObject = ["name": "callgate", "version": .string(API.Version.current)]

  func fault(_ fault: AgentFault) -> Response {
    var error: JSONObject = [
      "code": .number(JSONNumber(fault.code)), "message": .string(fault.message),
    ]
    error["data"] = fault.data
    return response(["jsonrpc": "2.0", "id": id, "error": .object(error)], status: fault.status)
  }

  /// - Parameter isLasting: Whether clients may cache the result.
  fileprivate func result(_ members: JSONObject, isLasting: Bool = false) -> Response {
    var result = members
    if isModern {
      result["resultType"] = "complete"
      if isLasting {
        result["ttlMs"] = 300_000
        result["cacheScope"] = "private"
      }
      result["_meta"] = ["io.modelcontextprotocol/serverInfo": .object(Self.server)]
    }
    return response(["jsonrpc": "2.0", "id": id, "result": .object(result)], status: .ok)
  }

  private func response(_ document: JSONObject, status: Status) -> Response {
    Response(status: status, fields: Self.fields, content: document.serialized())
  }

  private static let fields: Fields = ["Content-Type": "application/json", "Cache-Control": "no-store"]
  private static let capabilities: JSONValue = ["tools": .object([:])]

  fileprivate var discovery: Response {
    result(
      [
        "supportedVersions": .array(AgentProtocol.versions.map { .string($0) }),
        "capabilities": Self.capabilities, "instructions": .string(AgentTools.instructions),
      ], isLasting: true)
  }

  /// - Parameter version: The version that the client offers. If the server does not support it, the answer
  ///   offers another one.
  fileprivate func initialization(_ version: String) -> Response {
    let known = AgentProtocol.legacy + [AgentProtocol.oldest]
    return result([
      "protocolVersion": .string(known.contains(exactly: version) ? version : known[0]),
      "capabilities": Self.capabilities, "serverInfo": .object(Self.server),
      "instructions": .string(AgentTools.instructions),
    ])
  }

  /// The last members of every modern tool result.
  private static let modernEnd =
    #","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":"#
    + String(decoding: server.serialized(), as: UTF8.self) + "}"

  /// The result of a tool: a sentence to say, and a document. The result contains the document twice,
  /// because some clients pass on only the texts, and others only `structuredContent`.
  ///
  /// - Parameter document: JSON.
  func result(_ sentence: String, _ document: [UInt8], isError: Bool = false) -> Response {
    var content: [UInt8] = []
    content.reserveCapacity(512 + sentence.utf8.count + 3 * document.count)
    content += #"{"jsonrpc":"2.0","id":"#.utf8
    id.append(to: &content)
    content += #","result":{"content":[{"type":"text","text":"#.utf8
    JSONText.append(sentence, to: &content)
    content += #"},{"type":"text","text":"#.utf8
    JSONText.append(String(decoding: document, as: UTF8.self), to: &content)
    content += #"}],"structuredContent":"#.utf8
    content += document
    content += (isError ? #","isError":true"# : #","isError":false"#).utf8
    if isModern { content += Self.modernEnd.utf8 }
    content += "}}".utf8
    return Response(status: .ok, fields: Self.fields, content: content)
  }
}
