// A response of the emulator before a fault changes it.

import HTTP

/// A response of the emulator, to which a fault may be applied.
struct Reply: Sendable {
  var status: Status
  /// The header fields, except those that the server adds.
  var fields: Fields
  var content: [UInt8]

  /// Makes a reply. Without a content type it has no `Content-Type` field, unless `fields` has one.
  init(_ status: Status, contentType: String? = nil, content: [UInt8] = [], fields: Fields = [:]) {
    self.status = status
    self.fields = fields
    if let contentType { self.fields["Content-Type"] = contentType }
    self.content = content
  }

  static func json(_ status: Status, _ content: [UInt8], fields: Fields = [:]) -> Reply {
    Reply(status, contentType: "application/json", content: content, fields: fields)
  }

  /// The response that the server sends.
  var response: Response { Response(status: status, fields: fields, content: content) }
}
