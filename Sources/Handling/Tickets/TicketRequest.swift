// Reads the JSON body of a request for a ticket and collects every problem in it.

import API
import ChatDesk
import JOSE
import JSON

/// The checked content of a request for a ticket.
struct TicketRequest: Sendable {
  /// The maximum length of a title, a custom field's value and a related channel, in characters.
  static let lineLength = 255
  /// The maximum length of the first message, in characters.
  static let messageLength = 5000
  /// The maximum size of a request's body, in bytes. It has room for all members at their maximum lengths,
  /// with four bytes for each character.
  static let contentBytes = 65_536
  static let mostFields = 20
  static let mostChannels = 3
  /// The maximum length of a custom field's key and of a group's key, in characters.
  static let keyLength = 64
  /// The maximum length of a user's name (a nickname at Sendbird), in characters.
  static let nameLength = 80

  let ticket: NewTicket
  /// SHA-256 of the whole content in a fixed order. Two requests with the same digest request the same
  /// ticket.
  let digest: SHA256Digest

  private static let members = [
    "title", "message", "custom_fields", "priority", "group_key", "related_channels", "user_name",
  ]

  /// Reads a request's content and checks all of it.
  ///
  /// - Throws: `content_too_large`, `invalid_json`, or `invalid_request` with every mistake.
  init(parsing content: [UInt8]) throws(Problem) {
    let body = try Self.object(parsing: content)
    var problems = FieldProblems()
    problems.refuseUnknown(in: body, known: Self.members, prefix: "")
    if body["title"] == nil { problems.add("title", "Give the ticket a title.") }
    let title = problems.text("title", in: body, upTo: Self.lineLength)
    let message = problems.text("message", in: body, upTo: Self.messageLength, isText: true)
    let fields = problems.customFields(in: body)
    let group = problems.text("group_key", in: body, upTo: Self.keyLength)
    let channels = problems.channels(in: body)
    let userName = problems.text("user_name", in: body, upTo: Self.nameLength)
    var priority: NewTicket.Priority?
    if let word = problems.string("priority", in: body) {
      priority = NewTicket.Priority(rawValue: word)
      if priority == nil { problems.add("priority", "Give LOW, MEDIUM, HIGH or URGENT.") }
    }
    try problems.throwIfAny()
    guard let title else { throw Problem(.invalidRequest, "A title is missing.") }
    ticket = NewTicket(
      title: title, message: message, customFields: fields.map(NewTicket.Field.init), priority: priority,
      groupKey: group, relatedChannels: channels, userName: userName)
    var whole: JSONObject = ["title": .string(title)]
    if let message { whole.append("message", .string(message)) }
    var sorted = JSONObject()
    for field in fields.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
      sorted.append(field.name, .string(field.value))
    }
    whole.append("custom_fields", .object(sorted))
    if let priority { whole.append("priority", .string(priority.rawValue)) }
    if let group { whole.append("group_key", .string(group)) }
    whole.append("related_channels", .array(channels.map { .string($0) }))
    // Last, and only if it is given: requests of earlier releases keep their digest.
    if let userName { whole.append("user_name", .string(userName)) }
    digest = SHA256Digest(of: whole.serialized())
  }

  private static func object(parsing content: [UInt8]) throws(Problem) -> JSONObject {
    guard content.count <= contentBytes else { throw .contentTooLarge(contentBytes) }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue(
        parsing: content,
        limits: JSONLimits(
          bytes: contentBytes, depth: CallbackLimits.depth,
          members: contentBytes))
    } catch {
      throw Problem(.invalidJSON, "The body is not valid JSON: \(error).")
    }
    guard let body = value.object else {
      throw Problem(.invalidRequest, "The body is \(value.kindName). Send an object with title.")
    }
    return body
  }
}

extension FieldProblems {
  /// A member's text; nil if it is missing or wrong.
  /// - Parameter isText: Whether the text may contain line breaks and tabs.
  fileprivate mutating func text(
    _ name: String, in object: JSONObject, upTo length: Int, isText: Bool = false
  ) -> String? {
    string(name, in: object).flatMap { check($0, at: name, upTo: length, isText: isText) }
  }

  private mutating func check(_ text: String, at path: String, upTo length: Int, isText: Bool = false)
    -> String?
  {
    let scalars = text.unicodeScalars
    guard (1...length).contains(scalars.count) else {
      add(path, "Give 1 to \(length) characters.")
      return nil
    }
    let isSound = scalars.allSatisfy {
      !CallbackLimits.isControl($0) || (isText && ["\n", "\r", "\t", "\u{2028}", "\u{2029}"].contains($0))
    }
    guard isSound else {
      add(path, isText ? "Leave control characters out." : "Leave control characters and line breaks out.")
      return nil
    }
    return text
  }

  fileprivate mutating func customFields(in body: JSONObject) -> [(name: String, value: String)] {
    guard let value = body["custom_fields"] else { return [] }
    guard let object = value.object else {
      add("custom_fields", "This is \(value.kindName); give an object of strings, or leave it out.")
      return []
    }
    if object.count > TicketRequest.mostFields {
      add("custom_fields", "Give at most \(TicketRequest.mostFields) fields.")
    }
    var fields: [(name: String, value: String)] = []
    for member in object.members {
      let path = "custom_fields.\(Self.shown(member.name))"
      let name = check(member.name, at: path, upTo: TicketRequest.keyLength)
      guard let text = member.value.string else {
        add(path, "This is \(member.value.kindName); give a string.")
        continue
      }
      let value = check(text, at: path, upTo: TicketRequest.lineLength)
      if let name, let value { fields.append((name, value)) }
    }
    return fields
  }

  fileprivate mutating func channels(in body: JSONObject) -> [String] {
    guard let value = body["related_channels"] else { return [] }
    guard let elements = value.array else {
      add("related_channels", "This is \(value.kindName); give an array of channel URLs, or leave it out.")
      return []
    }
    if elements.count > TicketRequest.mostChannels {
      add("related_channels", "Give at most \(TicketRequest.mostChannels) channels.")
    }
    var channels: [String] = []
    for (index, element) in elements.enumerated() {
      let path = "related_channels[\(index)]"
      guard let text = element.string else {
        add(path, "This is \(element.kindName); give a string.")
        continue
      }
      // The desk accepts channels as one text, joined by commas.
      let isSound = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }
      guard isSound, (1...TicketRequest.lineLength).contains(text.utf8.count) else {
        add(path, "Give the URL of a channel, without spaces and commas.")
        continue
      }
      channels.append(text)
    }
    return channels
  }
}
