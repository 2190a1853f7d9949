// A response of the emulator before a fault changes it.

import HTTP

/// An answer of the emulator before any fault is laid over it.
struct Reply: Sendable {
  /// The status.
  var status: Status
  /// All fields but those the server writes.
  var fields: Fields
  /// The content.
  var content: [UInt8]

  /// Makes a reply; without a content type it has no content.
  init(_ status: Status, contentType: String? = nil, content: [UInt8] = [], fields: Fields = [:]) {
    self.status = status
    self.fields = fields
    if let contentType { self.fields["Content-Type"] = contentType }
    self.content = content
  }

  /// A reply whose content is JSON.
  static func json(_ status: Status, _ content: [UInt8], fields: Fields = [:]) -> Reply {
    Reply(status, contentType: "application/json", content: content, fields: fields)
  }

  /// The answer the server sends.
  var response: Response { Response(status: status, fields: fields, content: content) }
}
