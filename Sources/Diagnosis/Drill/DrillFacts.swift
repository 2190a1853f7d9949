// The facts that a test call records about a response, in a form that the sandbox can replay.

import HTTP
import JSON
import Tokens

/// An account's response. Numbers are masked, and only some header fields are kept.
struct DrillFacts {
  /// The header fields to keep: those about limits, retries, caching and the servers in between. None of them
  /// contains a credential or a cookie. A part of WWW-Authenticate, and short fields that are named like
  /// trace ids, are kept too.
  static let keptFields = [
    "Allow", "Cache-Control", "Content-Language", "Date", "Location", "RateLimit", "RateLimit-Limit",
    "RateLimit-Policy",
    "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", "Server", "Via", "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
  ]
  /// The maximum length of a field's value, in bytes. The rest is cut off.
  static let longestField = 256
  /// Words in the names of header fields with a trace id, in lower case.
  static let tracingWords = ["trace", "request-id", "correlation", "tid", "ray", "amz", "b3"]
  /// Words in the names of header fields with a credential, in lower case. Such a field never counts as a
  /// trace id.
  static let credentialWords = ["cookie", "token", "secret", "auth", "key", "session", "credential"]
  /// The maximum number of fields with trace IDs to keep.
  static let mostTraces = 32
  /// The longest name and the longest value of a field with a trace id, in bytes.
  static let longestTrace = 128

  let status: Int
  let contentType: String?
  /// The content with masked numbers; nil if it was not received completely.
  let content: String?
  let fields: [(name: String, value: String)]
  /// The names of the response's other fields, whose values are not recorded.
  let dropped: [String]
  let traceID: String?
  /// The steps of the request, in milliseconds; nil if nothing was measured.
  let durations: [(name: String, milliseconds: Int64)]?
  private let expiresIn: Int64?
  private let scope: String

  /// Copies the permitted parts of a response.
  init(_ response: ResponseRecorder.Response, traceID: String?, token: AccessToken, _ mask: DrillMask) {
    let message = response.message
    status = message.status
    contentType = message.fields["Content-Type"].flatMap { Self.kept($0, mask) }
    content = response.isWhole ? mask.content(message.content) : nil
    (fields, dropped) = Self.sorted(message.fields, hasTraceID: traceID != nil, mask)
    self.traceID = traceID.map(mask.own)
    durations = message.timing.map { timing in
      [
        ("dns", timing.nameResolution), ("tcp", timing.connecting), ("tls", timing.handshake),
        ("first_byte", timing.firstByte),
      ].map { ($0, $1.wholeMilliseconds) }
    }
    expiresIn = token.lifetime?.components.seconds
    scope = mask.own(token.scope)
  }

  /// The fields that are kept, and the names of the others.
  private static func sorted(
    _ fields: Fields, hasTraceID: Bool, _ mask: DrillMask
  ) -> (kept: [(name: String, value: String)], dropped: [String]) {
    var kept = keptFields.compactMap { name in
      self.kept(fields.values(of: name).joined(separator: ", "), mask, onlyOwn: tellsLimits(lowered(name)))
        .map { (name: name, value: $0) }
    }
    let challenge = "WWW-Authenticate"
    let challenges = fields.values(of: challenge).map(Challenges.withoutSecrets).joined(separator: ", ")
    if let value = self.kept(challenges, mask) { kept.append((challenge, value)) }
    // The facts have these elsewhere, or the fields only describe the transfer of the content.
    let elsewhere = ["Content-Type", "Content-Length", "Transfer-Encoding", "Connection"]
    let named = keptFields + [challenge] + elsewhere + (hasTraceID ? ["platform-tid"] : [])
    var seen = Set(named.map(lowered))
    var dropped: [String] = []
    var traces = 0
    for line in fields.lines where seen.insert(lowered(line.name)).inserted {
      let value = fields.values(of: line.name).joined(separator: ", ")
      if traces < mostTraces, isTrace(lowered(line.name)), isShort(value),
        let value = self.kept(value, mask, onlyOwn: true)
      {
        kept.append((mask.text(line.name), value))
        traces += 1
      } else {
        dropped.append(mask.text(line.name))
      }
    }
    return (kept, dropped)
  }

  private static func lowered(_ name: String) -> String {
    String(decoding: name.utf8.map(\.lowercasedASCII), as: UTF8.self)
  }

  /// Whether a field is about rate limits, so that its digits are counts and times, not phone numbers.
  private static func tellsLimits(_ name: String) -> Bool {
    ["ratelimit", "x-ratelimit-"].contains { name.utf8.starts(with: $0.utf8) }
  }

  private static func isTrace(_ name: String) -> Bool {
    func has(_ word: String) -> Bool { Array(name.utf8).firstRange(of: Array(word.utf8)) != nil }
    return isShort(name) && tracingWords.contains(where: has) && !credentialWords.contains(where: has)
  }

  private static func isShort(_ text: String) -> Bool {
    text.utf8.count <= longestTrace && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  /// A field's value: printable, bounded and masked; nil if nothing is left.
  /// - Parameter onlyOwn: Whether to mask only the token and the test call's own numbers.
  private static func kept(_ value: String, _ mask: DrillMask, onlyOwn: Bool = false) -> String? {
    var octets = (onlyOwn ? mask.own(value) : mask.text(value)).utf8.prefix(longestField).map {
      (0x20...0x7E).contains($0) ? $0 : 0x3F
    }
    while octets.last == 0x20 { octets.removeLast() }
    return octets.isEmpty ? nil : String(decoding: octets, as: UTF8.self)
  }

  /// The content of the facts file, as JSON with a final newline.
  var serialized: [UInt8] {
    var callback: JSONObject = [
      "status": .number(JSONNumber(Int64(status))), "content_type": contentType.map { .string($0) } ?? .null,
      "content": content.map { .string($0) } ?? .null,
    ]
    var kept = JSONObject()
    for field in fields { kept.append(field.name, .string(field.value)) }
    callback.append("fields", .object(kept))
    callback.append("trace_id", traceID.map { .string($0) } ?? .null)
    if let durations {
      var steps = JSONObject()
      for step in durations { steps.append(step.name, .number(JSONNumber(step.milliseconds))) }
      callback.append("duration_ms", .object(steps))
    }
    let token: JSONObject = [
      "expires_in": expiresIn.map { .number(JSONNumber($0)) } ?? .null, "scope": .string(scope),
    ]
    let facts: JSONObject = ["callback": .object(callback), "token": .object(token)]
    return facts.serialized() + [0x0A]
  }

  /// Whether a file's content looks like facts, so that another test call may replace it.
  static func areIn(_ bytes: [UInt8]) -> Bool {
    do throws(JSONError) {
      guard let object = try JSONValue(parsing: bytes).object else { return false }
      return object["callback"]?.object?["status"] != nil && object["token"]?.object != nil
    } catch {
      return false
    }
  }
}
