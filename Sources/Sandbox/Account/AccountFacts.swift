// Reads the file in which `callgate test-call` recorded a real account's response, so that the emulator can
// respond the same way.

import HTTP
import JSON

/// A real account's response to `callgate test-call` (docs/operate/diagnose.md). The emulator can return it
/// in place of its usual response.
public struct AccountFacts: Sendable {
  /// The status of the response to the callback request.
  var status: Int
  /// The response's `Content-Type`, if it had one.
  var contentType: String?
  /// The response's content. Empty if there was none, or if `test-call` did not read all of it.
  var content: String
  /// The response's `Retry-After`, if it had one.
  var retryAfter: String?
  /// The token's `expires_in`; nil if the token response had none.
  var expiresIn: Int64?
  /// The scopes that the token had.
  var scopes: [String]

  /// The longest accepted `expires_in`, in seconds. The server does not trust a token beyond a day either.
  static let longestLife: Int64 = 86_400

  /// Reads a file of `callgate test-call --facts`.
  public init(parsing bytes: [UInt8]) throws(Malformed) {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue(parsing: bytes)
    } catch {
      throw Malformed(problems: [Malformed.Problem(error, in: bytes)])
    }
    guard let root = value.object else {
      throw Malformed(problems: [Malformed.Problem("", "the file is not a JSON object")])
    }
    var reader = FactsReader()
    reader.refuseUnknown(in: root, "", known: ["callback", "token", "events"])
    let callback = reader.object(
      root, "callback", known: ["status", "content_type", "content", "fields", "trace_id", "duration_ms"])
    let token = reader.object(root, "token", known: ["expires_in", "scope"])
    var status: Int64?
    if let callback {
      status = reader.integer(callback["status"], "callback.status", within: 200...599)
      contentType = reader.fieldValue(callback["content_type"], "callback.content_type")
      content = reader.text(callback["content"], "callback.content") ?? ""
      retryAfter = reader.fields(callback["fields"], "callback.fields")["Retry-After"]
      _ = reader.text(callback["trace_id"], "callback.trace_id")
      reader.checkDurations(callback["duration_ms"], "callback.duration_ms")
    } else {
      content = ""
    }
    if let token, token["expires_in"] != .null {
      expiresIn = reader.integer(token["expires_in"], "token.expires_in", within: 1...Self.longestLife)
    }
    scopes = token.map { reader.scopes($0["scope"], "token.scope") } ?? []
    guard let status, reader.problems.isEmpty else { throw Malformed(problems: reader.problems) }
    self.status = Int(status)
  }

  /// The response to a valid callback request.
  var reply: Reply {
    let hasContent = ![204, 205, 304].contains(status)
    var reply = Reply(
      .emulated(status), contentType: hasContent ? contentType : nil,
      content: hasContent ? Array(content.utf8) : [])
    if let retryAfter { reply.fields["Retry-After"] = retryAfter }
    return reply
  }
}

extension AccountFacts {
  /// The problems in a facts file. They name members, but never contain the file's values.
  public struct Malformed: Error, Hashable, Sendable {
    struct Problem: Hashable, Sendable {
      /// The position: `:3:7` (line and column from 1), or `: callback.status`; empty for the whole file.
      var place: String
      var message: String

      init(_ path: String, _ message: String) {
        place = path.isEmpty ? "" : ": \(path)"
        self.message = message
      }

      init(_ error: JSONError, in bytes: [UInt8]) {
        let before = bytes.prefix(error.offset)
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let line = before.count { $0 == 0x0A } + 1
        // Continuation bytes of UTF-8 do not count as columns.
        let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
        place = ":\(line):\(column)"
        message = error.reason.rawValue
      }
    }

    /// All problems of the file; never empty.
    var problems: [Problem]

    /// One line per problem: `FILE:3:7: …` or `FILE: callback.status: …`.
    public func lines(_ file: String) -> [String] {
      problems.map { "\(file)\($0.place): \($0.message)" }
    }
  }
}

/// Reads the file's members and collects their problems. An optional member may be null. A function that
/// finds a problem returns nil or an empty value.
private struct FactsReader {
  private(set) var problems: [AccountFacts.Malformed.Problem] = []

  private mutating func problem(_ path: String, _ message: String) { problems.append(.init(path, message)) }

  mutating func refuseUnknown(in object: JSONObject, _ prefix: String, known: [String]) {
    for member in object.members where !known.contains(member.name) {
      problem(prefix + shown(member.name), "is not a known member")
    }
  }

  /// Reads a required object.
  mutating func object(_ parent: JSONObject, _ name: String, known: [String]) -> JSONObject? {
    guard let value = parent[name] else {
      problem(name, "is missing")
      return nil
    }
    guard let object = value.object else {
      problem(name, "is not an object")
      return nil
    }
    refuseUnknown(in: object, name + ".", known: known)
    return object
  }

  /// Reads a required whole number.
  mutating func integer(_ value: JSONValue?, _ path: String, within range: ClosedRange<Int64>) -> Int64? {
    if let integer = value?.int(in: range) { return integer }
    problem(path, "is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    return nil
  }

  mutating func text(_ value: JSONValue?, _ path: String) -> String? {
    guard let value, value != .null else { return nil }
    if let text = value.string { return text }
    problem(path, "is not a string")
    return nil
  }

  /// Reads a string that can be the value of a header.
  mutating func fieldValue(_ value: JSONValue?, _ path: String) -> String? {
    guard let text = text(value, path) else { return nil }
    let isValue =
      (1...1024).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      && text.utf8.first != 0x20 && text.utf8.last != 0x20
    if isValue { return text }
    problem(path, "is not a header's value: 1 to 1024 ASCII characters, no space at either end")
    return nil
  }

  mutating func fields(_ value: JSONValue?, _ path: String) -> Fields {
    var fields = Fields()
    guard let value, value != .null else { return fields }
    guard let object = value.object else {
      problem(path, "is not an object")
      return fields
    }
    for (name, value) in object.members {
      if let text = fieldValue(value, "\(path).\(shown(name))") { fields.append(name, text) }
    }
    return fields
  }

  mutating func checkDurations(_ value: JSONValue?, _ path: String) {
    guard let value, value != .null else { return }
    guard let object = value.object else { return problem(path, "is not an object") }
    refuseUnknown(in: object, path + ".", known: ["dns", "tcp", "tls", "first_byte"])
    for (name, value) in object.members where value.double(in: 0...(.infinity)) == nil {
      problem("\(path).\(shown(name))", "is not a number of milliseconds")
    }
  }

  /// Reads one or more scopes, separated by single spaces (RFC 6749 §3.3).
  mutating func scopes(_ value: JSONValue?, _ path: String) -> [String] {
    let words = (value?.string ?? "").split(separator: " ", omittingEmptySubsequences: false)
    let isScope: (Substring) -> Bool = { word in
      !word.isEmpty && word.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
    if words.allSatisfy(isScope) { return words.map(String.init) }
    problem(path, "is not a list of scopes, separated by single spaces")
    return []
  }

  /// A member's name for a message: at most 64 bytes, with `?` for each byte that is not visible ASCII.
  private func shown(_ name: String) -> String {
    String(decoding: name.utf8.prefix(64).map { (0x21...0x7E).contains($0) ? $0 : 0x3F }, as: UTF8.self)
  }
}
