// Describes the tools for AI agents, and reads their arguments. Without I/O.

import API
import Configuration
import Gate
import HTTP
import JSON
import Texts

/// The tools of a configuration, as `tools/list` shows them.
///
/// Some clients break complex schemas, so these have only types, `required` and `enum`.
struct AgentTools {
  typealias Tool = Configuration.MCP.Tool

  static let instructions =
    "Use these tools to arrange a phone call between the customer and the support team. Call request_callback once the customer has confirmed the number and agreed to be called. Repeating a call with the same arguments is safe: it never causes a second phone call."

  /// The maximum length of a conversation's ID, in characters.
  static let conversationLength = 128

  /// Arguments that some clients add to every call on their own.
  private static let ignored = ["toolCallId", "sessionId", "action", "chatInput", "tool"]

  let tools: [Tool]
  /// The names of the configured consents.
  let texts: [String]
  let requiresConsent: Bool

  init(_ mcp: Configuration.MCP, texts: [String]) {
    tools = Tool.allCases.filter(mcp.tools.contains)
    self.texts = texts
    requiresConsent = mcp.consent == .required
  }

  // MARK: Describing

  /// The list of tools, always in the same order.
  var list: JSONValue { .array(tools.map { .object(description(of: $0)) }) }

  private func description(of tool: Tool) -> JSONObject {
    switch tool {
    case .availability:
      return described(
        tool, "Opening hours",
        "Tells whether the support team can be called back now, when that changes, and which times can be booked. Give from and to for the free times in a span of at most 31 days.",
        [
          (
            "from",
            Self.text("First time of the span, RFC 3339 with offset, such as 2026-11-23T09:00:00-05:00")
          ),
          ("to", Self.text("End of the span, in the same form")),
        ], required: [], ["readOnlyHint": true, "openWorldHint": false])
    case .requestCallback:
      var properties: [(String, JSONValue)] = [
        ("phone_number", Self.text("The customer's number in E.164 form: + and 7 to 15 digits")),
        ("at", Self.text("When to call, RFC 3339 with offset. Leave it out to call now.")),
        (
          "reason",
          Self.text("What the customer wants, at most 500 characters. The person who calls reads it.")
        ),
        ("conversation_id", Self.conversation),
      ]
      if !texts.isEmpty {
        properties.append(
          (
            "consent",
            [
              "type": "object", "additionalProperties": false, "required": ["text"],
              "description": "The customer's consent to be called",
              "properties": [
                "text": [
                  "type": "string", "enum": .array(texts.map { .string($0) }),
                  "description": "The name of the text that the customer agreed to",
                ],
                "at": Self.text("When the customer agreed, RFC 3339 with offset. Leave it out for now."),
              ],
            ]
          ))
      }
      return described(
        tool, "Request a callback",
        "Has the support team call the customer, now or at a time. The phone really rings, so ask the customer first. The same request again in a conversation returns the first callback.",
        properties,
        required: ["phone_number", "conversation_id"]
          + (requiresConsent && !texts.isEmpty ? ["consent"] : []),
        [
          "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true,
        ])
    case .callbackStatus:
      return described(
        tool, "Status of a callback",
        "Tells the status of a callback that was requested in this conversation. If it is not found, call request_callback again.",
        Self.own, required: Self.own.map(\.0), ["readOnlyHint": true, "openWorldHint": false])
    case .cancelCallback:
      return described(
        tool, "Cancel a callback",
        "Cancels a callback that was booked in this conversation for a later time. A call that has started cannot be canceled.",
        Self.own, required: Self.own.map(\.0),
        [
          "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false,
        ])
    }
  }

  private func described(
    _ tool: Tool, _ title: String, _ description: String, _ properties: [(String, JSONValue)],
    required: [String], _ annotations: JSONObject
  ) -> JSONObject {
    var members = JSONObject()
    for (name, schema) in properties { members.append(name, schema) }
    var schema: JSONObject = [
      "type": "object", "additionalProperties": false, "properties": .object(members),
    ]
    if !required.isEmpty { schema["required"] = .array(required.map { .string($0) }) }
    return [
      "name": .string(tool.rawValue), "title": .string(title), "description": .string(description),
      "inputSchema": .object(schema), "annotations": .object(annotations),
    ]
  }

  private static func text(_ description: String) -> JSONValue {
    ["type": "string", "description": .string(description)]
  }

  private static let conversation = text(
    "Your id of this conversation, the same for all its calls: 1 to 128 characters")
  private static let own: [(String, JSONValue)] = [
    ("id", text("The id that request_callback returned")), ("conversation_id", conversation),
  ]

  // MARK: Reading

  /// The arguments of a tool.
  struct Arguments {
    fileprivate(set) var members: JSONObject
    fileprivate(set) var mistakes: [Problem.FieldProblem] = []

    subscript(name: String) -> JSONValue? { members[name] }

    /// A string argument; nil if it is missing or not a string.
    func text(_ name: String) -> String? { members[name]?.string }

    /// The id of the conversation; empty if it is invalid.
    var conversation: String {
      mistakes.contains { $0.name == "conversation_id" } ? "" : text("conversation_id") ?? ""
    }
  }

  /// Reads the arguments of a tool. Null means that an argument is missing.
  func read(_ object: JSONObject, of tool: Tool) -> Arguments {
    let known: [String] =
      switch tool {
      case .availability: ["from", "to"]
      case .requestCallback:
        ["phone_number", "at", "reason", "conversation_id"] + (texts.isEmpty ? [] : ["consent"])
      case .callbackStatus, .cancelCallback: ["id", "conversation_id"]
      }
    var arguments = Arguments(members: [:])
    var isUnknown = false
    for (name, value) in object.members where value != .null {
      if known.contains(exactly: name) {
        arguments.members.append(name, value)
      } else if !Self.ignored.contains(exactly: name) {
        isUnknown = true
      }
    }
    func report(_ name: String, _ description: String) {
      arguments.mistakes.append(.init(name: name, description: description))
    }
    // The model chose the unknown names, so the answer does not repeat them.
    if isUnknown { report("arguments", "Give only \(known.joined(separator: ", ")).") }
    if tool != .availability {
      let length = arguments.text("conversation_id")?.unicodeScalars.count ?? 0
      if !(1...Self.conversationLength).contains(length) {
        report("conversation_id", "Give a text of 1 to \(Self.conversationLength) characters.")
      }
    }
    switch tool {
    case .callbackStatus, .cancelCallback:
      if arguments.text("id") == nil { report("id", "Give the id that request_callback returned.") }
    case .requestCallback:
      if let reason = arguments["reason"],
        reason.string.map({ $0.unicodeScalars.count > AgentCall.longestReason }) ?? true
      {
        report("reason", "Give a text of at most \(AgentCall.longestReason) characters.")
        arguments.members["reason"] = nil
      }
    case .availability: break
    }
    return arguments
  }
}

extension AgentTools.Arguments {
  /// The content of a request for a callback in the server's own form.
  ///
  /// - Parameter now: The time of a consent that names none.
  func callback(at now: Instant) -> [UInt8] {
    var object = JSONObject()
    object["contact_phone_number"] = members["phone_number"]
    object["at"] = members["at"]
    if let reason = text("reason"), !reason.isEmpty {
      object["context"] = ["fields": [["name": "reason", "value": .string(reason)]]]
    }
    if case .object(var consent)? = members["consent"] {
      consent["at"] = consent["at"].flatMap { $0 == .null ? nil : $0 } ?? .string(now.rfc3339)
      object["consent"] = .object(consent)
    } else {
      object["consent"] = members["consent"]
    }
    return object.serialized()
  }
}

extension Problem {
  /// The name of the argument for a member of this server's own API.
  private static func argument(_ member: String) -> String {
    let known = [
      "phone_number", "at", "reason", "conversation_id", "consent", "id", "from", "to", "arguments",
    ]
    if known.contains(exactly: member) { return member }
    if member.hasSameBytes(as: "contact_phone_number") { return "phone_number" }
    if member.utf8.starts(with: "context".utf8) { return "reason" }
    return member.utf8.starts(with: "consent.".utf8) ? "consent" : "arguments"
  }

  /// The same problem with the names of arguments, because an agent does not know the members of the HTTP
  /// API.
  ///
  /// - Parameter more: Other mistakes, to list first.
  func naming(_ more: [FieldProblem] = []) -> Problem {
    guard !fields.isEmpty || !more.isEmpty else { return self }
    var problem = self
    problem.fields =
      more
      + fields.map { field in
        var field = field
        field.name = Self.argument(field.name)
        return field
      }
    if code == .invalidRequest { problem.detail = Problem.invalid(problem.fields).detail }
    return problem
  }
}
