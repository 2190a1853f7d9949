// What a drill keeps of an answer, in a form that the sandbox can replay.

internal import HTTP
internal import JSON
internal import Tokens

/// What an account answered. Numbers are masked, and of the header fields only those of a list are kept.
struct DrillFacts {
  /// The header fields that are kept: what tells of limits, retries, caching and the servers in between. None of them carries a
  /// credential or a cookie.
  static let keptFields = [
    "Allow", "Cache-Control", "Content-Language", "Date", "Location", "RateLimit", "RateLimit-Limit",
    "RateLimit-Policy",
    "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", "Server", "Via", "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
  ]
  /// How much of a field's value is kept, in bytes.
  static let longestField = 256

  let status: Int
  let contentType: String?
  /// Nil where it was not read whole.
  let content: String?
  let fields: [(name: String, value: String)]
  let traceID: String?
  /// The steps of the request, in milliseconds; nil where nothing was measured.
  let durations: [(name: String, milliseconds: Int64)]?
  private let expiresIn: Int64?
  private let scope: String

  /// Takes from an answer what may be kept.
  init(_ response: ResponseRecorder.Response, traceID: String?, token: AccessToken, _ mask: DrillMask) {
    let message = response.message
    status = message.status
    contentType = message.fields["Content-Type"].flatMap { Self.kept($0, mask) }
    content = response.isWhole ? mask.content(message.content) : nil
    fields = Self.keptFields.compactMap { name in
      Self.kept(message.fields.values(of: name).joined(separator: ", "), mask).map { (name, $0) }
    }
    self.traceID = traceID
    durations = message.timing.map { timing in
      [
        ("dns", timing.nameResolution), ("tcp", timing.connecting), ("tls", timing.handshake),
        ("first_byte", timing.firstByte),
      ].map { ($0, $1.wholeMilliseconds) }
    }
    expiresIn = token.lifetime?.components.seconds
    scope = token.scope
  }

  /// A field's value: printable, bounded and masked; nil where nothing is left.
  private static func kept(_ value: String, _ mask: DrillMask) -> String? {
    var octets = mask.text(value).utf8.prefix(longestField).map { (0x20...0x7E).contains($0) ? $0 : 0x3F }
    while octets.last == 0x20 { octets.removeLast() }
    return octets.isEmpty ? nil : String(decoding: octets, as: UTF8.self)
  }

  /// The file's content.
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

  /// Whether a file's content looks like facts: what another drill may replace.
  static func areIn(_ bytes: [UInt8]) -> Bool {
    do throws(JSONError) {
      guard let object = try JSONValue(parsing: bytes).object else { return false }
      return object["callback"]?.object?["status"] != nil && object["token"]?.object != nil
    } catch {
      return false
    }
  }
}
